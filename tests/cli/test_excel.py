import datetime
import sys
from zipfile import ZipFile

import openpyxl
import pandas as pd
import pytest

from weakly.cli._errors import UserError
from weakly.cli._tables import read_table


@pytest.fixture
def workbook(tmp_path, flowers):
    """Flowers in the first of two sheets, with a formula, text like a formula, dates and a blank row."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([*flowers.columns, "day", "odd", 2024])
    for row, values in enumerate(flowers.itertuples(index=False)):
        known = values[3] if isinstance(values[3], str) else None
        sheet.append([*values[:3], known, datetime.datetime(2024, 1, 1 + row % 28), "=1+1", row % 7])
        sheet.cell(sheet.max_row, 6).data_type = "s"
        if row == 9:
            sheet.append([None])
    sheet["A2"] = "=2+3"
    sheet["A3"].number_format = "0.00000"
    book.create_sheet("other")["A1"] = "kept"
    book.save(tmp_path / "t.xlsx")
    return tmp_path / "t.xlsx"


def test_only_missing_labels_of_a_workbook_are_filled(weakly, workbook, flowers):
    result = weakly("label", workbook, "--target", "name", "--folds", "0", "--method", "laplacian-rls")
    assert result.exit_code == 0, result.stderr
    before = openpyxl.load_workbook(workbook)
    after = openpyxl.load_workbook(workbook.with_name("t.labeled.xlsx"))
    assert after["other"]["A1"].value == "kept"
    assert after.active["A3"].number_format == "0.00000"
    rows = [row for row in range(2, 63) if row != 12]
    truth = dict(zip(rows, flowers.attrs["truth"], strict=True))
    for row in rows:
        old, new = ([cell.value for cell in book.active[row]] for book in (before, after))
        assert new[:3] == old[:3]
        assert new[4:7] == old[4:7]
        assert after.active.cell(row, 6).data_type == "s"
        assert new[3] == truth[row]
        assert (new[7] == 1) == (old[3] is not None)
    assert [cell.value for cell in after.active[12]] == [None] * 8
    assert after.active["H1"].value == "name_confidence"
    told = " ".join(result.stdout.split())
    assert "note: of 2 sheets the first one, 'Sheet', is used." in told
    assert "│ number, standardised, 1 missing set" in told  # the formula, which nobody has computed


def test_cells_of_a_workbook_keep_their_types(workbook):
    table = read_table(workbook)
    assert list(table.cells.columns[-3:]) == ["day", "odd", "2024"]
    first = table.cells.iloc[1]
    assert isinstance(first["day"], datetime.datetime)
    assert isinstance(first["2024"], int)
    assert pd.isna(table.cells["name"].iloc[-1])


def test_an_empty_sheet(tmp_path):
    openpyxl.Workbook().save(tmp_path / "t.xlsx")
    with pytest.raises(UserError, match="the first sheet, 'Sheet', is empty"):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(("old", "new"), [(b"</row>", b"<row>"), (b"sheetId=", b"sheetIe=")])
def test_a_damaged_workbook(workbook, old, new):
    odd = workbook.with_name("odd.xlsx")
    with ZipFile(workbook) as whole, ZipFile(odd, "w") as damaged:
        for name in whole.namelist():
            damaged.writestr(name, whole.read(name).replace(old, new))
    with pytest.raises(
        UserError, match=r"cannot read .*odd.xlsx': the file is no Excel workbook, or damaged"
    ):
        read_table(odd)


def test_without_openpyxl_the_error_says_what_to_install(workbook, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UserError, match=r"pip install 'weakly\[xlsx\]'"):
        read_table(workbook)
