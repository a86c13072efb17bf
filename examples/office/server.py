"""The demo office as a plain script: python examples/office/server.py --help."""

from office.command import main

if __name__ == "__main__":
    main()
