#!/usr/bin/env python3
"""The Python module on a hand-written report, and its comparison with the program behind `whywait compare`.

    test_whywait.py [-v]        WHYWAIT_COMPARE_PROGRAM: path of that program; without it the comparison is skipped
"""
import copy
import json
import os
import pathlib
import sys
import tempfile
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/python"))
import whywait

PROGRAM = os.environ.get("WHYWAIT_COMPARE_PROGRAM")
CALL = {"call": "MPI_Recv", "region": "main/exchange", "file": "src/halo.cpp", "line": 142}
SEND = {"call": "MPI_Send", "region": "main/exchange", "file": "src/halo.cpp", "line": 131}
COMPUTE = {"block": "compute", "kind": "region", "region": "main", "file": "src/halo.cpp", "line": 88}


def report(slow=1.0):
    residual = dict(COMPUTE, seconds=3.5 * slow, visits_seconds=0.5, speed_seconds=3.0, causer_visits=20, waiter_visits=10,
                    inherited_seconds=0.0)
    return {"schema": "whywait/1",
            "run": {"ranks": 3, "locations": 3, "seconds": 4 * slow, "location_seconds": 12 * slow, "waiting_seconds": 4 * slow},
            "verdict": [{"text": "rank 2 takes 3 times as long", "block": "compute", "rank": 2, "ratio": 3, "saving_seconds": 1.5}],
            "waits": [{"pattern": "late_sender", "seconds": 4 * slow, "count": 10, "quality": "exact", "operation": CALL, "cause": SEND,
                       "unexplained_seconds": 0.5 * slow, "residual": [residual],
                       "waiters": [{"rank": 0, "thread": 0, "seconds": 3 * slow}, {"rank": 1, "thread": 0, "seconds": slow}],
                       "causers": [{"rank": 2, "thread": 0, "seconds": 4 * slow}],
                       "advice": [{"problem": "late_sender", "text": "send earlier", "description": "late", "saving_seconds": 1.0}]}],
            "problems": [{"problem": "slow_block", "text": "split it", "description": "slow <b>", "saving_seconds": 2.0}],
            "critical_path": [dict(COMPUTE, seconds=4 * slow, imbalance_seconds=1.0, visits=20, saving_seconds=1.0)],
            "efficiency": {"parallel": 0.66, "load_balance": 0.7, "serialisation": 1, "transfer": 0.95}}


class Module(unittest.TestCase):
    def setUp(self):
        self.run_ = whywait.Run(report())

    def test_facts(self):
        self.assertEqual((self.run_.ranks, self.run_.seconds, self.run_.rank_seconds), (3, 4, 12))
        self.assertAlmostEqual(self.run_.waiting_share, 1 / 3)
        self.assertIn("33 % of rank time is waiting", repr(self.run_))

    def test_the_causes_of_a_wait_add_up(self):
        wait = self.run_.waits()[0]
        causes = [row for row in self.run_.causes() if row["wait"] == wait["wait"]]
        self.assertAlmostEqual(sum(row["seconds"] for row in causes) + wait["unexplained_seconds"], wait["seconds"])
        self.assertEqual(wait["operation"], "MPI_Recv in exchange (halo.cpp:142)")
        self.assertEqual(wait["late_call"], "MPI_Send in exchange (halo.cpp:131)")
        self.assertEqual(wait["cause"], "compute (halo.cpp:88)")
        self.assertEqual((wait["waiters"], wait["late_ranks"], wait["share"]), ([0, 1], [2], 1.0))

    def test_ranks(self):
        self.assertEqual([row["waiting_seconds"] for row in self.run_.rank_table()], [3, 1, 0])
        self.assertEqual([row["caused_seconds"] for row in self.run_.rank_table()], [0, 0, 4])

    def test_advice_is_sorted_by_saving(self):
        self.assertEqual([row["problem"] for row in self.run_.advice()], ["slow_block", "late_sender"])

    def test_every_table_is_a_list_or_a_frame(self):
        for name in whywait.Run.TABLES:
            rows = self.run_.table(name)
            self.assertTrue(isinstance(rows, list) or hasattr(rows, "columns"), name)
        with self.assertRaisesRegex(whywait.Error, "no table 'none'; there are waits, "):
            self.run_.table("none")

    def test_the_critical_path_adds_up(self):
        self.assertAlmostEqual(sum(row["seconds"] for row in self.run_.critical_path()), self.run_.seconds)

    def test_places_without_debug_information(self):
        from whywait.run import place
        self.assertEqual(place({"call": "MPI_Send", "region": "", "file": "", "line": 0, "module": "app", "offset": 4660}),
                         "MPI_Send (app+0x1234)")

    def test_the_picture_is_well_formed_and_escapes_names(self):
        data = report()
        data["waits"][0]["operation"] = dict(CALL, region="a<b>&c")
        picture = whywait.plot(whywait.Run(data, "x<y>"))
        document = xml.dom.minidom.parseString(picture.svg)
        text = " ".join(node.firstChild.data for node in document.getElementsByTagName("text") if node.firstChild.nodeType == 3)
        self.assertIn("x<y>: 3 ranks, 4 s, 33 % of rank time is waiting", text)
        self.assertEqual(picture._repr_svg_(), picture.svg)
        self.assertGreaterEqual(len(document.getElementsByTagName("rect")), 4 + 1 + 1 + 3)

    def test_files(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "a.json").write_text(json.dumps(report()), encoding="utf-8")
            self.assertEqual(whywait.load(folder / "a.json").seconds, 4)
            self.assertEqual(len(whywait.load(folder)), 1)
            (folder / "bad.txt").write_text("{", encoding="utf-8")
            (folder / "other.txt").write_text("[]", encoding="utf-8")
            with self.assertRaisesRegex(whywait.Error, "bad.txt is not JSON"):
                whywait.load(folder / "bad.txt")
            with self.assertRaisesRegex(whywait.Error, "other.txt is not a report of whywait"):
                whywait.load(folder / "other.txt")
            with self.assertRaisesRegex(whywait.Error, "cannot read .*none.json: No such file"):
                whywait.load(folder / "none.json")

    @unittest.skipUnless(PROGRAM, "WHYWAIT_COMPARE_PROGRAM is not set")
    def test_comparison(self):
        same = whywait.compare(self.run_, whywait.Run(report()), program=PROGRAM)
        self.assertEqual((same["outcome"], same["worse"]), ("same", False))
        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "slow.json"
            path.write_text(json.dumps(report(2.0)), encoding="utf-8")
            found = whywait.compare([self.run_, self.run_], path, program=PROGRAM)
        self.assertEqual((found["outcome"], found["runs_before"], found["runs_after"]), ("worse", 2, 1))
        self.assertEqual(found["wall_time_causes"][0]["block"], "compute")
        with self.assertRaisesRegex(whywait.Error, "cannot read none.json"):
            whywait.compare("none.json", self.run_, program=PROGRAM)
        self.assertEqual(whywait.compare(self.run_, copy.deepcopy(self.run_), at_least=50, program=PROGRAM)["at_least"], 0.5)


if __name__ == "__main__":
    unittest.main()
