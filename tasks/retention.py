def clean_up() -> float:
    return 60.0
