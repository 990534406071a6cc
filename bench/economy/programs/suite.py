"""A test suite of 15 MB of output with one failure in the middle."""

import sys

for number in range(150_000):
    name = f"tests/test_module_{number % 400}.py::test_case_{number}"
    print(f"{name} PASSED in 0.00{number % 10} s, worker gw{number % 4}")
    if number == 71_003:
        print("tests/test_module_203.py::test_refund FAILED")
        print("    def test_refund():")
        print(">       assert refund(order) == Decimal('19.99')")
        print("E       AssertionError: assert Decimal('19.90') == Decimal('19.99')")
        print("tests/test_module_203.py:88: AssertionError")
print("1 failed, 149999 passed in 14.20 s")
sys.exit(1)
