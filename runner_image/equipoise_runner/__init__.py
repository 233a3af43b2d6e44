"""What runs beside the kernel: measures one block, believes nothing, decides nothing.

Called as a program by the command line. It never imports what judges: estimation, validation and
verdict belong to the protocol, and the candidate may reach this process.
"""
