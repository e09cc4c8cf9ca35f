from .layout._pictures import *
