"""The command app without a sweep: one instance of a program for the job, for each node or for each rank; progress and
checkpoints."""

import signal
import time
import unittest

from harness import BAD_INPUT, DONE, FAILED, PATIENCE
from program_case import HEAD, ProgramCase, job_text

# Counts to 6 in steps that it keeps as checkpoints, and is killed once, at step 3, until the file `go` exists.
COUNTER = """first=0
[ "$1" = --resume ] && first=$(cat "$2")
echo "from $first" >> history
for i in $(seq $((first + 1)) 6); do
    echo $i > partial && mv partial step-$i.ckpt
    echo "step $i/6"
    [ $i -lt 3 ] || [ -e go ] || { touch go; kill -9 $$; }
done
echo "last $i"
"""
CHECKPOINTS = 'checkpoint = "step-*.ckpt"\nresume_argv = ["--resume", "{checkpoint}"]\nfolder = "work"'


class Instances(ProgramCase):
    def await_text(self, path, text, timeout=60):
        deadline = time.monotonic() + timeout * PATIENCE
        while time.monotonic() < deadline:
            if path.exists() and text in path.read_text():
                return
            time.sleep(0.02)
        self.fail(f"{path} never contains {text}")

    def test_each_rank_runs_an_instance_and_all_know_where_to_meet(self):
        script = "echo is {rank}/{world_size} {local_rank}/{local_size} {node_rank}/{nodes} {master_address} {master_port}; " \
                 "touch here-{rank}; until [ -e here-0 -a -e here-1 -a -e here-2 ]; do sleep 0.05; done"  # needs all at once
        rest = "[output.regex]\nis = '^is (.*)'\n[output.type]\nis = 'text'\n"
        self.run_job(job_text(script, 'instances = "rank"', 0, rest), ranks=3)
        self.assertEqual(self.values("instance"), [0, 1, 2])
        self.assertEqual(self.values("exit_code"), [0, 0, 0])
        self.assertEqual(len(set(self.texts("host"))), 1)
        texts = [text.split() for text in self.texts("is")]
        self.assertEqual([text[:3] for text in texts], [[f"{r}/3", f"{r}/3", "0/1"] for r in range(3)])
        self.assertEqual({text[3] for text in texts}, {"127.0.0.1"})
        self.assertEqual(len({text[4] for text in texts}), 1)
        self.assertTrue(0 < int(texts[0][4]) < 65536)

    def test_each_node_runs_an_instance(self):
        script = "echo n {node_rank}"
        rest = "[output.regex]\nn = 'n (\\d)'\n[output.type]\nn = 'integer'\n"
        text = job_text(script, 'instances = "node"', 0, rest)
        self.run_job(text, "--set", "cluster.ranks_per_node=2", ranks=4)
        self.assertEqual(self.values("n"), [0, 1])
        self.run_job(text, "--fresh", ranks=4)  # a host is one node, unless the job says otherwise
        self.assertEqual(self.values("n"), [0])

    def test_instances_are_not_divided_into_shards(self):
        text = job_text("true", 'instances = "rank"', 0)
        _, err = self.run_job(text, "--shard", "0/2", ranks=2, expect=BAD_INPUT)
        self.assertIn('job.toml:5: command.instances = "rank": all instances run at the same time in one job, so --shard', err)
        self.assertEqual(err.count("--shard"), 1)
        self.assertFalse((self.folder / "a.h5.parts").exists())

    def test_one_instance_must_print_the_outputs(self):
        rest = "[output.regex]\nv = 'v (\\d)'\n[output.type]\nv = 'integer'\n"
        self.run_job(job_text("[ {rank} = 0 ] || echo v 3", 'instances = "rank"', 0, rest), ranks=2)
        self.assertEqual(self.values("v"), [-(2**63), 3])
        self.assertEqual(self.values("outcome"), [0, 0])
        text = job_text("echo w 3", 'instances = "rank"', 0, rest)
        _, err = self.run_job(text, "--fresh", ranks=2, expect=FAILED)
        self.assertRegex(err, r"instance 0 on \S+ \(rank 0\): v: the pattern matches nothing that the program printed, and no other")

    def test_logs_of_instances_are_kept_if_outputs_are_missing(self):
        rest = "[output]\nlogs = 'failed'\n[output.regex]\nv = 'v (\\d)'\n"
        logs = self.folder / "a.h5.log/runs"
        text = job_text("echo w 3", 'instances = "rank"', 0, rest)
        _, err = self.run_job(text, ranks=2, expect=FAILED)
        self.assertIn("a.h5.log/runs/instance-0.out", err)
        self.assertEqual([(logs / f"instance-{rank}.out").read_text() for rank in (0, 1)], ["w 3\n", "w 3\n"])
        self.run_job(text.replace("w 3", "v 3"), "--fresh", ranks=2)
        self.assertEqual(list(logs.iterdir()), [])

    def test_the_program_runs_once_for_the_whole_job(self):
        self.run_job(job_text("echo {rank} {hosts} >> history", 'instances = "allocation"', 0), ranks=3)
        self.assertEqual(len((self.folder / "history").read_text().splitlines()), 1)
        self.assertEqual(self.values("outcome"), [0])

    def test_an_instance_that_fails_ends_the_others(self):
        script = "echo $$ > {rank}.pid; [ {rank} = 1 ] && {{ until [ -s 0.pid -a -s 2.pid ]; do sleep 0.05; done; " \
                 "echo out of beans >&2; exit 7; }}; exec sleep 600"
        text = job_text(script, 'instances = "rank"', 0)
        _, err = self.run_job(text, ranks=3, expect=FAILED)
        self.assertRegex(err, r"instance 1 on \S+ \(rank 1\): sh ended with exit code 7: out of beans, and the others were ended; "
                              r"see \S+/a.h5.log/runs/instance-1.out")
        self.await_end_of([int(path.read_text()) for path in self.await_files("?.pid", 3)], timeout=10)
        # Recorded, if the job is to go on.
        self.run_job(text, "--set", "command.on_failure=record", "--fresh", ranks=3)
        self.assertEqual(self.values("outcome"), [5, 1, 5])
        self.assertIn("because another instance failed", self.texts("problem")[2])

    def test_files_are_staged_to_each_working_folder(self):
        self.write("tool.sh", "echo staged\n").chmod(0o755)
        self.write("data.txt", "7 beans\n")
        script = "./tool.sh && cat data.txt"
        rest = "[output.regex]\nbeans = '(\\d) beans'\n"
        text = job_text(script, 'instances = "rank"\nfolder = "work-{rank}"\nstage = ["{job_folder}/*.sh", "data.txt"]', 0, rest)
        self.run_job(text, ranks=2)
        self.assertEqual(self.values("beans"), [7, 7])
        self.assertEqual(sorted(path.name for path in (self.folder / "work-1").iterdir()), ["data.txt", "tool.sh"])
        _, err = self.run_job(text.replace("*.sh", "absent.*"), "--fresh", ranks=2, expect=BAD_INPUT)
        self.assertRegex(err, r"job.toml:\d+: command.stage: \S+ has no file /\S+/absent\.\*")

    def test_a_stopped_job_leaves_no_instance_and_resumes(self):
        text = job_text("echo $$ >> {rank}.pid; [ -e go ] || exec sleep 600", 'instances = "rank"', 0)
        self.write("job.toml", text)
        process = self.start("run", "job.toml", "--output", "a.h5", ranks=2)
        pids = [int(path.read_text()) for path in self.await_files("?.pid", 2)]
        process.send_signal(signal.SIGUSR1)
        self.finish(process, expect=None)  # Open MPI does not always pass the code on
        self.await_end_of(pids)
        self.assertFalse((self.folder / "a.h5").exists())
        self.write("go", "")
        self.run_job(text, ranks=3)  # with any number of ranks
        self.assertEqual(self.values("exit_code"), [0, 0, 0])

    def counter_job(self, rest=""):
        self.write("counter.sh", COUNTER)
        argv = '["sh", "{job_folder}/counter.sh"]'
        return HEAD.format(argv=argv, keys=CHECKPOINTS) + "[output.regex]\nlast = 'last (\\d)'\n" + rest

    def test_the_same_command_resumes_from_the_newest_checkpoint(self):
        text = self.counter_job()
        _, err = self.run_job(text, expect=FAILED)
        self.assertIn("point 0: sh was ended by signal 9", err)
        out, _ = self.run_job(text)
        self.assertRegex(out, "resumes from .*/work/step-3.ckpt")
        self.assertEqual((self.folder / "work/history").read_text(), "from 0\nfrom 3\n")
        self.assertEqual(self.values("last"), [6])
        # A new job does not begin where an old one ended.
        time.sleep(1.1)  # the records of lives count whole seconds
        self.run_job(text, "--fresh")
        self.assertEqual((self.folder / "work/history").read_text(), "from 0\nfrom 3\nfrom 0\n")

    def test_launch_resumes_from_the_newest_checkpoint_by_itself(self):
        self.write("job.toml", self.counter_job())
        out, err = self.voltpile("launch", "job.toml", "--ranks", "1", "--output", "a.h5", expect=DONE)
        self.assertEqual((self.folder / "work/history").read_text(), "from 0\nfrom 3\n")
        self.assertEqual(self.values("last"), [6])

    def test_launch_goes_on_while_one_of_the_instances_has_newer_checkpoints(self):
        script = "if [ {rank} = 0 ]; then n=$(( $(cat n || echo 0) + 1 )); echo $n > n; touch step-$n.ckpt; " \
                 "until [ -e ../w-1/step-0.ckpt ]; do sleep 0.05; done; [ $n = 5 ] && touch ../done; [ -e ../done ]; " \
                 "else touch step-0.ckpt; until [ -e ../done ]; do sleep 0.05; done; fi"
        keys = 'instances = "rank"\nfolder = "w-{rank}"\ncheckpoint = "step-*.ckpt"\nresume_argv = ["{checkpoint}"]'
        self.write("job.toml", job_text(script, keys, 0))
        out, _ = self.voltpile("launch", "job.toml", "--ranks", "2", "--retries", "2", "--output", "a.h5", timeout=240)
        self.assertIn("launch: done after 5 attempts", out)
        for number in range(1, 5):
            self.assertEqual(out.count(f"instance-0: resumes from {self.folder.resolve()}/w-0/step-{number}.ckpt"), 1)
        self.assertEqual(self.values("exit_code"), [0, 0])

    def test_progress_is_read_from_what_the_program_prints(self):
        self.write("go", "")
        script = "echo step 2/6 loss 0.5 >&2; until [ -e stop ]; do sleep 0.05; done; echo step 6/6"
        rest = "[progress]\nstep = 'step (\\d+)/(\\d+)'\nloss = 'loss (\\S+)'\nnever = 'no (\\d+) of these'\n"
        self.write("job.toml", job_text(script, count=0, rest=rest))
        process = self.start("run", "job.toml", "--output", "a.h5")
        lines = []
        for line in process.stderr:  # a line of progress every ten seconds
            lines.append(line)
            if "elapsed" in line and "step" in line:
                self.assertRegex(line, r"  loss 0.5  step 2 of 6")
                break
        self.write("stop", "")
        _, err = self.finish(process)
        self.assertIn("job.toml:9: progress.never: the pattern matches no number", "".join(lines) + err)
        self.assertNotIn("progress.step: ", err)

    def test_the_first_instance_shows_progress(self):
        rest = "[progress]\nstep = 'step (\\d+)'\n"
        _, err = self.run_job(job_text("[ {rank} = 1 ] || echo step 3", 'instances = "rank"', 0, rest), ranks=2)
        self.assertNotIn("progress.step", err)
        _, err = self.run_job(job_text("[ {rank} = 0 ] || echo step 3", 'instances = "rank"', 0, rest), "--fresh", ranks=2)
        self.assertEqual(err.count("progress.step: the pattern matches no number"), 1)

    def test_wrong_keys_are_named_with_their_lines(self):
        for keys, script, rest, says in (
            ('instances = "nodes"', "true", "", 'did you mean "node"?'),
            ("", "echo {word_size}", "", "did you mean world_size?"),
            ('checkpoint = "*.pt"', "true", "", "job.toml:5: command.checkpoint and command.resume_argv belong together"),
            ('checkpoint = "*.pt"\nresume_argv = ["{chekpoint}"]', "true", "", "did you mean checkpoint?"),
            ("", "echo {checkpoint}", "", "{checkpoint} is neither an axis"),
            ('stage = ["{rank}"]', "true", "", 'command.stage[0] = "{rank}"'),
            ("", "true", "[progress]\nstep = 'a('\n", "job.toml:7: progress.step = 'a(': missing closing parenthesis"),
            ('instances = "rank"', "true", "[output.regex]\nhost = 'a'\n", 'the result has "host" already'),
        ):
            with self.subTest(says=says):
                _, err = self.run_job(job_text(script, keys, 0, rest), expect=BAD_INPUT)
                self.assertIn(says, err)
        for keys, script, says in (
            ('instances = "rank"', "echo {x}", "job.toml:5: command.instances = \"rank\": in a sweep the program runs once"),
            ("", "echo {x} {rank}", "{rank} is for jobs without a sweep"),
            ('checkpoint = "step-*.pt"\nresume_argv = ["-r", "{checkpoint}"]\nfolder = "work"', "echo {x}",
             'job.toml:5: command.checkpoint = "step-*.pt": a point could resume from the checkpoint of another'),
        ):
            with self.subTest(says=says):
                _, err = self.run_job(job_text(script, keys), expect=BAD_INPUT)
                self.assertIn(says, err)


if __name__ == "__main__":
    unittest.main()
