def net(gross: float) -> float:
    return gross / 1.19


def gross(net: float) -> float:
    return net * 1.19
