"""The plot of bench/policy: it draws what the table says, and refuses what is no such table.

Run by CTest with the path of plot.py.
"""
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as tree

PLOT = os.path.abspath(sys.argv.pop(1))
HEADER = "pipeline,interference_percent,policy,setting,conversion,slowdown_percent\n"
TINY = HEADER + ('"a, 1 ms",0,weft,budget 0 %,0,0\n'
                 '"a, 1 ms",0,weft,budget 1 %,0.9,0.1\n'
                 '"a, 1 ms",0,mps,all,1.3,48.7\n'
                 '"b & c",2,weft,budget 1 %,0.5,-0.001\n')
SVG = "{http://www.w3.org/2000/svg}"


class Plot(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.target = os.path.join(self.folder.name, "plot.svg")

    def run_plot(self, *arguments, given=None):
        return subprocess.run([sys.executable, "-B", PLOT, *arguments], input=given, capture_output=True, text=True,
                              check=False)

    def refused(self, given, said):
        run = self.run_plot("-", self.target, given=given)
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertEqual(run.stderr, f"plot.py: standard input: {said}\n")
        self.assertFalse(os.path.exists(self.target))

    def drawn(self, given):
        run = self.run_plot("-", self.target, given=given)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))
        return tree.parse(self.target).getroot()

    def test_points_axes_and_legend(self):
        root = self.drawn(TINY)
        texts = [element.text for element in root.iter(SVG + "text")]
        for wanted in ("a, 1 ms, interference 0 %", "b & c, interference 2 %", "slowdown of the training, %",
                       "fill work / idle time", "weft", "mps", "0.01", "100", "1.0"):
            self.assertIn(wanted, texts)
        titles = [element.text for element in root.iter(SVG + "title")]
        self.assertIn("mps, all: 1.300 at +48.700 %", titles)
        self.assertEqual(root[1].get("fill"), "#ffffff", "a background for dark viewers")

    def test_more_is_higher_and_slower_is_farther_right(self):
        places = [[float(number) for number in point.split(",")]
                  for line in self.drawn(TINY).iter(SVG + "polyline") for point in line.get("points").split()]
        nothing, budget, mps, below = places
        self.assertLess(nothing[0], budget[0])
        self.assertLess(budget[0], mps[0])
        self.assertGreater(nothing[1], budget[1])
        self.assertGreater(budget[1], mps[1])
        self.assertEqual(below[0], nothing[0])

    def test_a_point_above_the_panel_says_where_it_is(self):
        root = self.drawn(TINY + '"a, 1 ms",0,mps,more,4.04,50\n')
        self.assertIn("4.0", [element.text for element in root.iter(SVG + "text")])
        mps = [line.get("points").split() for line in root.iter(SVG + "polyline")][1]
        self.assertEqual(mps[1].split(",")[1], "0.0", "at the edge")

    def test_equal_tables_give_equal_plots(self):
        self.drawn(TINY)
        with open(self.target, encoding="utf-8") as file:
            first = file.read()
        self.drawn(TINY)
        with open(self.target, encoding="utf-8") as file:
            self.assertEqual(file.read(), first)

    def test_what_is_no_table_is_refused(self):
        self.refused("", "line 1: the columns have to be " + HEADER.strip())
        self.refused("x,y\n1,2\n", "line 1: the columns have to be " + HEADER.strip())
        self.refused(HEADER, "there is no point")
        self.refused(TINY + "a,0,weft\n", "line 6: 3 values instead of 6")
        self.refused(TINY + "a,0,weft,x,much,1\n", "line 6: 'much' is no conversion")
        self.refused(TINY + "a,0,weft,x,0.5,nan\n", "line 6: 'nan' is no slowdown_percent")
        self.refused(TINY + "a,0,weft,x,-0.5,1\n", "line 6: a conversion below 0")
        self.refused(HEADER + "".join(f"a,0,p{i},x,1,1\n" for i in range(8)),
                     "there are 8 policies; at most 7 can be told apart")

    def test_files_that_are_not_there(self):
        run = self.run_plot(os.path.join(self.folder.name, "none.csv"), self.target)
        self.assertEqual(run.returncode, 1)
        self.assertIn("none.csv: No such file or directory", run.stderr)
        self.assertEqual(self.run_plot().returncode, 2)


if __name__ == "__main__":
    unittest.main()
