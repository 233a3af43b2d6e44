"""Ends the interpreter while being loaded."""

import torch
from torch import nn
import sys


sys.exit(0)
