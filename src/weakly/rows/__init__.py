"""Where samples live, and what is known of them.

Samples are an array, a memory map, a CSR matrix, a Dask collection or a matrix on a device; labels mark some
of them. Arrays come with their algebra, the sizes of numbers that it can hold, and how much memory they may
take. What reads samples block by block is written once, against ``RowBlocks``, and so is which are equal.
"""
