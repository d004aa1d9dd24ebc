def enqueue_due() -> float:
    return 5.0
