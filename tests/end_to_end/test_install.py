"""The tree that `cmake --install` makes: files found from the prefix, manual pages, completion in bash and zsh."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import BAD_INPUT, ENVIRONMENT, SOURCE, VOLTPILE

COMMANDS = ("run", "plan", "submit", "plot", "bench llm", "model eval")


def run(*words, folder=None, expect=0):
    done = subprocess.run(
        [*map(str, words)], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != expect:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="voltpile-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", pathlib.Path(VOLTPILE).parent, "--prefix", cls.prefix)
        cls.share = cls.prefix / "share"

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def voltpile(self, *words, expect=0):
        return run(self.prefix / "bin/voltpile", *words, folder=self.work, expect=expect)


class ShippedFiles(Installed):
    def test_finds_jobs_and_clusters_by_name(self):
        plan = self.voltpile("plan", "seed_map", "--cluster", "t181_x3").stdout
        self.assertIn("t181-3", plan)
        path = self.voltpile("plan", "jobs/threebody/seed_map.toml", "--cluster", "data/clusters/t181_x3.toml").stdout
        self.assertEqual(plan, path)

    def test_file_in_the_current_folder_wins(self):
        text = (SOURCE / "data/clusters/t181_x3.toml").read_text()
        (self.work / "t181_x3").write_text(text.replace("t181-", "mine-"))
        plan = self.voltpile("plan", "seed_map", "--cluster", "t181_x3").stdout
        self.assertIn("mine-3", plan)

    def test_unknown_name_is_reported_as_typed(self):
        error = self.voltpile("plan", "no_such_job", "--cluster", "t181_x3", expect=BAD_INPUT).stderr
        self.assertIn("cannot open job file no_such_job:", error)

    def test_moved_tree_still_works(self):
        moved = self.work / "elsewhere"
        shutil.copytree(self.prefix, moved)
        plan = run(moved / "bin/voltpile", "plan", "figure_eight", "--cluster", "mixed_home", folder=self.work)
        self.assertIn("workstation", plan.stdout)

    def test_ships_every_job_and_slurm_file(self):
        for folder in ("jobs", "slurm", "data/clusters"):
            for path in (SOURCE / folder).rglob("*"):
                if path.is_file():
                    shipped = self.share / "voltpile" / path.relative_to(SOURCE)
                    self.assertEqual(shipped.read_bytes(), path.read_bytes(), shipped)

    def test_job_of_prompts_runs_from_any_folder(self):
        self.voltpile("run", "tiny_demo", "--set", "generate.max_tokens=2", "--output", "demo.h5")
        self.assertTrue((self.work / "demo.h5").is_file())


class ManualPages(Installed):
    def pages(self):
        return sorted(self.share.glob("man/man*/voltpile*"))

    def rendered(self, page):
        # Minimized systems have a script that explains itself in place of man.
        if shutil.which("man") and run("man", "--version").stdout.startswith("man "):
            done = run("man", "--warnings", "-l", "-Tutf8", "-P", "cat", page)
        elif shutil.which("groff"):
            text = run("gzip", "-dc", page).stdout if page.suffix == ".gz" else page.read_text()
            path = self.work / "page"
            path.write_text(text)
            done = run("groff", "-ww", "-man", "-Tutf8", path)
        else:
            self.skipTest("neither man nor groff is installed")
        self.assertEqual(done.stderr, "", page)
        return re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)

    def page_of(self, command):
        stem = "-".join(["voltpile", *command.split()])
        return next(p for p in self.pages() if p.name.split(".")[0] == stem)

    def test_render_without_warnings(self):
        self.assertGreater(len(self.pages()), 15)
        for page in self.pages():
            text = self.rendered(page)
            for section in ("NAME", "SEE ALSO"):
                self.assertIn(f"\n{section}\n", text, page)

    def test_name_every_option_of_help(self):
        for command in COMMANDS:
            text = self.rendered(self.page_of(command))
            options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", self.voltpile(*command.split(), "--help").stdout))
            self.assertGreater(len(options), 1)
            for option in options:
                self.assertIn(option, text, command)

    def test_describe_every_key_of_a_job(self):
        text = self.rendered(self.page_of("job threebody"))
        for key in ("twin_shift", "separation", "range_seconds"):
            self.assertIn(f"\n       {key}\n", text)


class Completion(Installed):
    def bash(self, *words):
        script = self.share / "bash-completion/completions/voltpile"
        program = (
            f"source {script}; COMP_WORDS=(voltpile {' '.join(repr(w) for w in words)}); "
            'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _voltpile; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = run("bash", "-c", program, folder=self.work)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_completes_commands(self):
        self.assertEqual(self.bash("pl"), ["plan", "plot"])
        self.assertEqual(self.bash("bench", "l"), ["llm"])
        self.assertEqual(self.bash("model", "e"), ["eval"])

    def test_bash_completes_options_and_their_values(self):
        self.assertEqual(self.bash("run", "--outp"), ["--output"])
        self.assertEqual(self.bash("bench", "comm", "--coll"), ["--collective"])
        self.assertEqual(sorted(self.bash("submit", "x.toml", "--launcher", "")), ["mpirun", "srun"])
        self.assertEqual(self.bash("submit", "x.toml", "--launcher", "=", "m"), ["mpirun"])
        self.assertEqual(self.bash("completion", "z"), ["zsh"])

    def test_bash_completes_files(self):
        (self.work / "a job.toml").touch()
        (self.work / "map.h5").touch()
        self.assertEqual(self.bash("run", "x.toml", "--output", "m"), ["map.h5"])
        self.assertEqual(" ".join(self.bash("run", "a")), "a job.toml")

    def test_zsh_accepts_the_function(self):
        if not shutil.which("zsh"):
            self.skipTest("zsh is not installed")
        folder = self.share / "zsh/site-functions"
        run("zsh", "-n", folder / "_voltpile")
        done = run("zsh", "-f", "-c", f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u; echo $_comps[voltpile]")
        self.assertEqual(done.stdout.strip(), "_voltpile")


if __name__ == "__main__":
    unittest.main()
