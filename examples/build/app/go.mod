module example.com/built

go 1.26
