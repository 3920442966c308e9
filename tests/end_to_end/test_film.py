"""voltpile plot --movie: which pictures it draws, and what it asks ffmpeg to do."""

import os
import shutil
import stat
import subprocess
import unittest

from harness import BAD_INPUT, CANNOT_RUN, MAP, SOURCE, Case

THIRD_AXIS = """
[[sweep]]
parameter = "mass[1]"
from = 15.0
to = 25.0
count = 6
"""

# Says what it was asked to do, and makes a file.
FFMPEG = """#!/bin/sh
for last; do :; done
printf '%s\\n' "$@" > "$FFMPEG_SAYS"
test -n "$FFMPEG_FAILS" && { echo "no such encoder" >&2; exit 1; }
printf 'comment=voltpile plot 0' > "$last"
"""


class Films(Case):
    """voltpile plot --movie."""

    def setUp(self):
        super().setUp()
        self.voltpile("run", SOURCE / "jobs/smoke/threebody_3axes.toml", "--output", "a.h5")
        self.programs = self.folder / "programs"
        self.programs.mkdir()

    def plot(self, *arguments, **options):
        return self.voltpile("plot", "a.h5", *arguments, **options)

    def pictures(self, folder):
        return {path.name: path.read_bytes() for path in sorted((self.folder / folder).glob("*.png"))}

    def with_ffmpeg(self, **more):
        program = self.programs / "ffmpeg"
        program.write_text(FFMPEG)
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        says = self.folder / "asked.txt"
        return {"PATH": f"{self.programs}:{os.environ['PATH']}", "FFMPEG_SAYS": str(says), **more}, says

    def test_frames_are_numbered_and_drawn_once(self):
        out, _ = self.plot("--movie", "frames", "--bare", "--size", "10")
        self.assertEqual(out, "frames: 5 pictures of 5\n")
        first = self.pictures("frames")
        self.assertEqual(list(first), [f"frame_{k:06}.png" for k in range(5)])
        out, _ = self.plot("--movie", "frames", "--bare", "--size", "10")
        self.assertIn("0 drawn now", out)
        (self.folder / "frames/frame_000003.png").unlink()
        out, _ = self.plot("--movie", "frames", "--bare", "--size", "10")
        self.assertIn("1 drawn now", out)
        self.assertEqual(self.pictures("frames"), first)
        out, _ = self.plot("--movie", "frames", "--bare", "--size", "10", "--map", "viridis")
        self.assertEqual(out, "frames: 5 pictures of 5\n")
        self.assertNotEqual(self.pictures("frames"), first)

    def test_frames_that_are_not_ours_stay(self):
        (self.folder / "frames").mkdir()
        (self.folder / "frames/frame_000002.png").write_text("mine")
        _, err = self.plot("--movie", "frames", expect=BAD_INPUT)
        self.assertIn("frame_000002.png", err)
        self.assertEqual(list(self.pictures("frames")), ["frame_000002.png"])

    def test_only_whole_frames_are_drawn(self):
        job = self.write("third.toml", MAP.replace("count = 120", "count = 40").replace("count = 100", "count = 30") + THIRD_AXIS)
        self.stop_with_parts(self.folder / "b.h5", 30, "run", job, "--output", "b.h5", "--set", "run.range_points=50")
        out, _ = self.voltpile("plot", "b.h5", "--movie", "some")
        drawn = len(self.pictures("some"))
        self.assertIn(f"some: {drawn} pictures of 6", out)
        self.assertLess(drawn, 6)
        self.assertIn("the same command draws them later", out)

    def test_ffmpeg_is_asked_for_a_film(self):
        environment, says = self.with_ffmpeg()
        out, _ = self.plot("--movie", "zoom.mp4", "--fps", "24", environment=environment)
        self.assertEqual(out, "zoom: 5 pictures of 5\nzoom.mp4\n")
        asked = says.read_text().splitlines()
        self.assertEqual(asked[asked.index("-framerate") + 1], "24")
        self.assertEqual(asked[asked.index("-frames:v") + 1], "5")
        self.assertEqual(asked[asked.index("-i") + 1], str(self.folder / "zoom/frame_%06d.png"))
        self.assertTrue((self.folder / "zoom.mp4").is_file())
        out, _ = self.plot("--movie", "zoom.mp4", environment=environment)  # replaces its own
        self.assertIn("0 drawn now", out)
        self.write("other.mp4", "mine")
        _, err = self.plot("--movie", "other.mp4", environment=environment, expect=BAD_INPUT)
        self.assertEqual((self.folder / "other.mp4").read_text(), "mine")

    def test_a_failing_ffmpeg_is_reported(self):
        environment, _ = self.with_ffmpeg(FFMPEG_FAILS="1")
        _, err = self.plot("--movie", "zoom.mp4", environment=environment, expect=CANNOT_RUN)
        self.assertIn("no such encoder", err)
        self.assertFalse((self.folder / "zoom.mp4").exists())
        self.assertEqual(len(self.pictures("zoom")), 5)

    def test_a_film_without_ffmpeg_is_refused_before_drawing(self):
        _, err = self.plot("--movie", "zoom.mp4", environment={"PATH": str(self.programs)}, expect=BAD_INPUT)
        self.assertIn("ffmpeg is not installed", err)
        self.assertFalse((self.folder / "zoom").exists())

    def test_two_axes_make_no_movie(self):
        self.small_result("map.h5")
        _, err = self.voltpile("plot", "map.h5", "--movie", "frames", expect=BAD_INPUT)
        self.assertIn("has 2 of the three axes", err)

    @unittest.skipUnless(shutil.which("ffmpeg") and shutil.which("ffprobe"), "ffmpeg is not installed")
    def test_the_real_ffmpeg_makes_a_film(self):
        self.plot("--movie", "zoom.mp4", "--bare", "--size", "11")
        asked = ["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries",
                 "stream=nb_read_frames,codec_name", "-of", "csv=p=0", self.folder / "zoom.mp4"]
        self.assertEqual(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip(), "h264,5")


if __name__ == "__main__":
    unittest.main()
