"""Tables for the terminal and for markdown, from rows of strings."""


def text(header, rows):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def line(row):
        # The first column names the row, the others are numbers.
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def markdown(header, rows):
    def line(row):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"

    return "\n".join([line(header), "|---" + "|--:" * (len(header) - 1) + "|", *map(line, rows)])


def number(value, digits=0):
    return "-" if value is None else f"{value:,.{digits}f}"


def million(value):
    """Instructions in millions with three significant digits, at least."""
    if value is None:
        return "-"
    value /= 1e6
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def ratio(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
