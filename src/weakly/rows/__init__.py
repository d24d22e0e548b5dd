"""Where samples live, and what is known of them.

Samples are an array, a memory map, a CSR matrix, a Dask collection or a matrix on a device; labels mark some
of them. What reads samples block by block is written once, against ``RowBlocks``. How much memory a fit may
take, which samples are equal, and which sizes of numbers arithmetic can hold is decided here too.
"""
