"""The command app: sweeps over the arguments of any program, its outputs, failures, logs and process trees."""

import math
import os
import re
import signal
import time
import unittest

import h5py

from harness import BAD_INPUT, CANNOT_RUN, FAILED, PATIENCE, SOURCE, STOPPED
from program_case import AXIS, HEAD, ProgramCase, alive, family_job, job_text


class AnyProgram(ProgramCase):
    def test_the_shipped_sweep_gives_the_resonance_curve(self):
        self.voltpile("run", SOURCE / "jobs/command/oscillator.toml", "--output", "a.h5", "--set", "sweep.frequency.count=3",
                      "--set", "sweep.damping.count=2", "--set", "sweep.damping.from=0.2", ranks=2)
        with h5py.File(self.folder / "a.h5") as file:
            self.assertEqual(file["amplitude"].shape, (2, 3))
            self.assertEqual(file["amplitude"].attrs["units"], "m")
            for i, d in enumerate(file["damping"][()]):
                for j, w in enumerate(file["frequency"][()]):
                    theory = 1 / math.hypot(1 - w * w, 2 * d * w)
                    # The largest of 200 samples a period lies at most 1 - cos(pi / 200) below the crest.
                    self.assertAlmostEqual(file["amplitude"][i, j] / theory, 1, delta=2e-4)
                    self.assertEqual(file["periods"][i, j], math.ceil(12 / d / (2 * math.pi / w)) + 1)
            self.assertEqual(set(file["exit_code"][()].ravel()), {0})

    def test_failed_runs_are_recorded_and_the_job_goes_on(self):
        script = 'case {x} in 0) echo v 7;; 1) echo v 8; printf "reason\\n====\\n\\n" >&2; exit 3;; 2) kill -9 $$;; 3) echo nothing;; esac'
        _, err = self.run_job(job_text(script, rest="[output.regex]\nv = 'v (\\d+)'\n[output.type]\nv = 'integer'\n"))
        self.assertEqual(self.values("outcome"), [0, 1, 2, 4])
        self.assertEqual(self.values("exit_code"), [0, 3, 137, 0])
        missing = -(2**63)
        self.assertEqual(self.values("v"), [7, 8, missing, missing])
        problems = self.texts("problem")
        self.assertEqual(problems[0], "")
        self.assertIn("exit code 3: reason", problems[1])
        self.assertIn("signal 9", problems[2])
        self.assertIn("v: the pattern matches nothing", problems[3])
        self.assertIn("point 1 (x = 1): sh ended with exit code 3: reason", err)
        self.assertEqual((self.folder / "a.h5.log/runs/point-1.err").read_text(), "reason\n====\n\n")

    def test_a_failed_run_ends_the_job_if_it_shall(self):
        text = job_text("[ {x} -lt 2 ] || [ -e go ] || exit 9", 'on_failure = "stop"')
        _, err = self.run_job(text, expect=FAILED)
        self.assertIn("point 2 (x = 2): sh ended with exit code 9; see ", err)
        self.write("go", "")
        _, err = self.run_job(text)
        self.assertEqual(self.values("exit_code"), [0, 0, 0, 0])
        # Without a sweep that is the default.
        _, err = self.run_job(job_text("exit 5", count=0), "--fresh", expect=FAILED)
        self.assertIn("point 0: sh ended with exit code 5", err)

    def test_a_sweep_in_which_every_run_fails_fails(self):
        text = job_text("echo {x} reason >&2; exit 3")
        for _ in range(2):  # also when the result is there already
            _, err = self.run_job(text, expect=FAILED)
            self.assertIn("all 4 runs failed; point 0 (x = 0): sh ended with exit code 3: 0 reason. The result has all of them", err)
            self.assertEqual(self.values("exit_code"), [3] * 4)
        self.run_job(job_text("echo {x} reason >&2; exit 3", 'on_failure = "record"'))
        _, err = self.run_job(job_text("[ {x} -eq 2 ]"), "--fresh")
        self.assertEqual(self.values("outcome"), [1, 1, 0, 1])
        _, err = self.run_job(text, "--fresh", ranks=2, expect=FAILED)
        self.assertEqual(err.count("all 4 runs failed"), 1)

    def test_a_run_that_prints_without_end_is_ended(self):
        begin = time.monotonic()
        self.run_job(job_text("if [ {x} -eq 1 ]; then exec yes; fi; echo fine", rest="[output]\nmost_log_bytes = 1e6\n"))
        self.assertEqual(self.values("outcome"), [0, 6, 0, 0])
        self.assertIn("sh was ended because it printed more than output.most_log_bytes = 1e+06", self.texts("problem")[1])
        self.assertLess(time.monotonic() - begin, 30 * PATIENCE)

    def test_launch_does_not_repeat_what_would_fail_again(self):
        flood, limit = "exec yes", "[output]\nmost_log_bytes = 1e6\n"
        keys = 'checkpoint = "*.ckpt"\nresume_argv = ["{checkpoint}"]\nfolder = "work"'
        for text, ranks, attempts, says in (
                (job_text("echo {x} reason >&2; exit 3"), 1, 1, "all 4 runs failed; point 0 (x = 0): sh ended with exit code 3: 0 reason"),
                (job_text("exit 3 {x}"), 2, 1, "all 4 runs failed; point 0 (x = 0): sh ended with exit code 3"),
                (job_text(flood, count=0, rest=limit), 1, 1, "point 0: sh was ended because it printed more than"),
                (job_text(flood, 'instances = "rank"', 0, limit), 2, 1, "sh was ended because it printed more than"),
                (job_text("[ {x} -lt 3 ] || exec yes", 'on_failure = "stop"', rest=limit), 2, 1, "point 3 (x = 3): sh was ended because"),
                # These may succeed at the next attempt: as many as --retries allows.
                (job_text(flood, keys, 0, limit), 1, 2, "point 0: sh was ended because it printed more than"),
                (job_text("exit 3", count=0), 1, 2, "point 0: sh ended with exit code 3")):
            with self.subTest(says=says, ranks=ranks, attempts=attempts):
                self.write("job.toml", text)
                out, err = self.voltpile("launch", "job.toml", "--fresh", "--ranks", ranks, "--retries", 2, "--output", "a.h5", expect=FAILED)
                both = out + err
                self.assertEqual(both.count("launch: attempt "), 2 * attempts, both)  # the start and the end of each
                self.assertIn("launch: attempt 1 ended with exit code 4", out)
                self.assertEqual(out.count("another attempt would fail in the same way"), attempts == 1, out)
                self.assertRegex(out, "launch: verdict: .*" + re.escape(says))
                errors = [line for line in both.splitlines() if line.startswith("error") and says in line]
                self.assertEqual(len(errors), attempts, both)

    def test_output_that_is_not_json_is_named(self):
        script = 'case {x} in 0) echo text; echo "{{\\"a\\": 1.5}}";; 1) echo "{{oops";; 2) echo "{{}}";; 3) true;; esac'
        self.run_job(job_text(script, rest='[output.json]\na = "/a"\n'))
        self.assertEqual(self.values("a")[0], 1.5)
        self.assertEqual(self.values("outcome"), [0, 4, 4, 4])
        problems = self.texts("problem")
        self.assertIn('the last line of stdout, "{oops", is not JSON', problems[1])
        self.assertIn("the JSON has no /a", problems[2])
        self.assertIn("printed nothing", problems[3])

    def test_a_json_file_counts_only_for_the_run_that_wrote_it(self):
        script = '[ {x} = 1 ] || echo "[{x}]" > "r.json"'
        self.run_job(job_text(script, 'folder = "work"', 2, '[output]\njson_file = "r.json"\n[output.json]\na = "/0"\n'))
        self.assertEqual(self.values("outcome"), [0, 4])
        self.assertIn("did not write r.json", self.texts("problem")[1])

    def test_the_time_limit_ends_the_whole_process_tree(self):
        script = "setsid sleep 600 & echo $! > child.pid; trap '' TERM; echo $$ > main.pid; sleep 600; sleep 600"
        self.run_job(job_text(script, 'time_limit_s = 0.5\non_failure = "record"', 0))
        self.assertEqual(self.values("outcome"), [3])
        self.assertIn("command.time_limit_s = 0.5 s", self.texts("problem")[0])
        self.await_end_of([int((self.folder / name).read_text()) for name in ("child.pid", "main.pid")], timeout=1)

    def test_nothing_survives_a_killed_rank(self):
        # One process in the program's group, one in a session of its own, one without a parent.
        script = "sleep 600 & echo $! > a.pid; setsid sleep 600 & echo $! > b.pid; (setsid sleep 600 & echo $! > c.pid); " \
                 "echo $$ > d.pid; wait"
        self.write("job.toml", job_text(script, count=0))
        process = self.start("run", "job.toml", "--output", "a.h5")
        pids = [int(path.read_text()) for path in self.await_files("?.pid", 4)]
        self.assertTrue(all(alive(pid) for pid in pids))
        process.kill()
        process.communicate()
        self.await_end_of(pids)

    def test_nothing_survives_a_killed_keeper(self):
        self.write("job.toml", family_job('on_failure = "record"'))
        for victim, code in (("keeper", 128 + signal.SIGKILL), ("guard", 128 + signal.SIGTERM)):
            with self.subTest(victim=victim):
                process = self.start("run", "job.toml", "--output", "a.h5", "--fresh")
                pids = self.await_family()
                os.kill(pids[victim], signal.SIGKILL)
                self.finish(process)
                self.assertFalse([name for name, pid in pids.items() if alive(pid)])
                self.assertEqual(self.values("exit_code"), [code])
                for path in self.folder.glob("*.pid"):
                    path.unlink()

    def test_nothing_survives_a_killed_process_group(self):
        """As mpirun kills its ranks."""
        self.write("job.toml", family_job())
        process = self.start("run", "job.toml", "--output", "a.h5", process_group=0)
        pids = self.await_family()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        self.await_end_of(pids.values())

    def test_a_stopped_sweep_resumes_without_repeating_runs(self):
        script = "echo run {x} >> history; [ {x} -lt 2 ] || [ -e go ] || {{ echo $$ > main.pid; exec sleep 600; }}"
        text = job_text(script)
        self.write("job.toml", text)
        process = self.start("run", "job.toml", "--output", "a.h5")
        (pid,) = [int(path.read_text()) for path in self.await_files("main.pid", 1)]
        process.send_signal(signal.SIGINT)
        self.finish(process, expect=STOPPED)
        self.await_end_of([pid], timeout=1)
        self.write("go", "")
        out, _ = self.run_job(text)
        self.assertIn("2 of 4 points are done already", out)
        history = (self.folder / "history").read_text().split("run ")
        self.assertEqual(sorted(line.strip() for line in history if line), ["0", "1", "2", "2", "3"])

    def test_the_environment_has_what_the_templates_say_and_nothing_of_mpirun(self):
        script = 'echo "$GREETING|$OMP_NUM_THREADS|$OMPI_COMM_WORLD_RANK|$PWD"; taskset -cp $$ | sed "s/.*: /cpus /"'
        rest = '[environment]\nGREETING = "{x:05.1f} of point {point} {{}}"\n[output.regex]\ntext = "^.*[|].*$"\n' \
               '[output.type]\ntext = "text"\n'
        self.run_job(job_text(script, 'folder = "work/{point}"', 2, rest), "--set", "run.threads=1", ranks=2)
        self.assertEqual(self.texts("text"), [f"00{x}.0 of point {x} {{}}|1||{self.folder.resolve()}/work/{x}" for x in (0, 1)])

    def test_logs_of_runs_that_went_well_can_be_left_out(self):
        self.run_job(job_text("echo {x}; exit {x}", count=2, rest='[output]\nlogs = "failed"\n'))
        self.assertEqual([path.name for path in sorted((self.folder / "a.h5.log/runs").iterdir())],
                         ["point-1.err", "point-1.out"])

    def test_programs_and_folders_that_do_not_exist_are_named(self):
        text = HEAD.format(argv='["no-such-program"]', keys="")
        _, err = self.run_job(text, expect=CANNOT_RUN)
        self.assertIn('job.toml:3: command.argv[0] = "no-such-program": ', err)
        self.assertIn("has no such program in PATH", err)
        _, err = self.run_job(HEAD.format(argv='["./absent"]', keys=""), "--fresh", expect=CANNOT_RUN, ranks=2)
        self.assertIn("cannot start ./absent: No such file or directory", err)
        _, err = self.run_job(job_text("true", 'folder = "/proc/none"', 0), "--fresh", expect=FAILED)
        self.assertIn("cannot create /proc/none", err)

    def test_wrong_job_files_are_named_with_their_lines(self):
        for key, text, says in (
            ("argv", '["echo", "{speed}"]', "job.toml:3: command.argv[1] = \"{speed}\": {speed} is neither an axis of the sweep"),
            ("argv", '["echo", "{pont} {x}"]', "{pont} is neither an axis of the sweep nor a name that every job has; "
                                                "did you mean point?"),
            ("argv", '["echo", "{x"]', "a { without its }"),
            ("argv", '["echo", "{x:9q}"]', "{x:9q}"),
            ("argv", '["echo"]', "no template uses {x}"),
            ("argv", "[]", "command.argv names no program"),
        ):
            with self.subTest(text=text):
                _, err = self.run_job(HEAD.format(argv=text, keys="") + AXIS.format(count=2), expect=BAD_INPUT)
                self.assertIn(says, err)
        for rest, says in (
            ("[output.regex]\nv = 'a('\n", "job.toml:13: output.regex.v = 'a(': missing closing parenthesis at character 3"),
            ("[output.json]\nv = 'a'\n", "must be a JSON pointer"),
            ("[output.regex]\nx = 'a'\n", '"x" is an axis of the sweep'),
            ("[output.regex]\nseconds = 'a'\n", 'every result has "seconds" already'),
            ("[output.regex]\nv = 'a'\n[output.unit]\nw = 'm'\n", 'neither output.regex nor output.json has "w"'),
            ("[output.regex]\nv = 3\n", "output.regex.v = 3: expected a string"),
            ("[output.type]\nv = 'reel'\n", "did you mean \"real\"?"),
        ):
            with self.subTest(rest=rest):
                _, err = self.run_job(job_text("echo {x}", rest=rest), expect=BAD_INPUT)
                self.assertIn(says, err)


if __name__ == "__main__":
    unittest.main()
