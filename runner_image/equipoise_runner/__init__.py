"""What runs beside the kernel: measures one block, believes nothing, decides nothing.

Called as a program by the command line (and later by a pod). It never imports what judges:
estimation, validation and verdict belong to the protocol, and the candidate can reach this process.
"""
