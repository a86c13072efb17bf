from colleague.cli.main import main

main()
