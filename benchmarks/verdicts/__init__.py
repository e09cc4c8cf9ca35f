"""How long verdicts on schedules take."""
