from office.command import main

main()
