package extra
