module tulle

go 1.25
