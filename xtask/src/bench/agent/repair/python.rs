//! Repairs in Python.

use super::Repair;

pub(super) const REPAIRS: &[Repair] = &[
    Repair {
        name: "median",
        language: "python",
        prompt: "median() in statistics_tools.py returns a wrong value for lists with an even number of values: it must be \
                 the mean of the two in the middle. Repair it.",
        files: &[(
            "statistics_tools.py",
            "def median(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n",
        )],
        test: (
            "hidden.py",
            "import os, sys\nsys.path.insert(0, os.getcwd())\nfrom statistics_tools import median\n\
             assert median([3, 1, 2]) == 2\nassert median([4, 1, 3, 2]) == 2.5\nassert median([7]) == 7\n",
        ),
        reference: (
            "statistics_tools.py",
            "def median(values):\n    ordered = sorted(values)\n    middle = len(ordered) // 2\n    if len(ordered) % 2:\n        \
             return ordered[middle]\n    return (ordered[middle - 1] + ordered[middle]) / 2\n",
        ),
    },
    Repair {
        name: "shared-list",
        language: "python",
        prompt: "Two baskets of basket.py share their items: what is added to one appears in the other. Repair it.",
        files: &[(
            "basket.py",
            "class Basket:\n    def __init__(self, items=[]):\n        self.items = items\n\n    def add(self, item):\n        \
             self.items.append(item)\n",
        )],
        test: (
            "hidden.py",
            "import os, sys\nsys.path.insert(0, os.getcwd())\nfrom basket import Basket\na, b = Basket(), Basket()\n\
             a.add('pear')\nassert a.items == ['pear'] and b.items == []\nassert Basket(['fig']).items == ['fig']\n",
        ),
        reference: (
            "basket.py",
            "class Basket:\n    def __init__(self, items=None):\n        self.items = [] if items is None else items\n\n    \
             def add(self, item):\n        self.items.append(item)\n",
        ),
    },
    Repair {
        name: "leap-year",
        language: "python",
        prompt: "is_leap() in calendar_tools.py says that 1900 is a leap year and that 2000 is one too; 1900 is not. Repair it.",
        files: &[("calendar_tools.py", "def is_leap(year):\n    return year % 4 == 0\n")],
        test: (
            "hidden.py",
            "import os, sys\nsys.path.insert(0, os.getcwd())\nfrom calendar_tools import is_leap\n\
             assert [y for y in (1900, 1996, 2000, 2023, 2024, 2100) if is_leap(y)] == [1996, 2000, 2024]\n",
        ),
        reference: (
            "calendar_tools.py",
            "def is_leap(year):\n    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)\n",
        ),
    },
    Repair {
        name: "word-count",
        language: "python",
        prompt: "count_words() in words.py counts \"The\" and \"the\" as two words, and keeps commas and full stops in words. \
                 Upper and lower case are one word, and punctuation is no part of a word. Repair it.",
        files: &[(
            "words.py",
            "def count_words(text):\n    counts = {}\n    for word in text.split():\n        \
             counts[word] = counts.get(word, 0) + 1\n    return counts\n",
        )],
        test: (
            "hidden.py",
            "import os, sys\nsys.path.insert(0, os.getcwd())\nfrom words import count_words\n\
             assert count_words('The cat, the dog.') == {'the': 2, 'cat': 1, 'dog': 1}\nassert count_words('') == {}\n",
        ),
        reference: (
            "words.py",
            "def count_words(text):\n    counts = {}\n    for word in text.split():\n        word = word.strip('.,;:!?').lower()\n        \
             if word:\n            counts[word] = counts.get(word, 0) + 1\n    return counts\n",
        ),
    },
];
