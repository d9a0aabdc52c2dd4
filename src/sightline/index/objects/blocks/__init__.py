"""What the R-tree and the grid have in common: blocks of rows with inverted lists, and boxes above them.

* :mod:`arrays`: from an order of the rows and the ends of the blocks to flat arrays, and back.
* :mod:`reader`: nearest rows and counts of terms; where a range search begins is the index's own.
"""
