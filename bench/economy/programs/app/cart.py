from .price import gross


def total(items: list[float]) -> float:
    return sum(gross(item) for item in items)
