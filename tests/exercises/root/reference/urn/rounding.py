from .model import STEPS, run_totals

RUNS = {"totals": {"model": lambda arguments, dtype: run_totals(STEPS, arguments, dtype)}}
