"""The sentences that `prose` is made of, written for it: English passages, and other scripts."""

from collections.abc import Mapping
from typing import Final

PASSAGES: Final[tuple[tuple[str, ...], ...]] = (
    (
        "The lighthouse keeper lit the lamp an hour early that evening.",
        "A fog was coming in from the west, slow and patient, as if it had all night to arrive.",
        "He poured two cups of tea out of habit and set one on the windowsill for nobody.",
        "Far out, a single bell answered the waves.",
        "He counted the seconds between its strokes and wrote the number in the margin of the log.",
        "By midnight the beam was a white room that turned around the tower.",
        "Whatever was out there, it would find the shore by that light.",
    ),
    (
        "Every garden has a corner that looks after itself.",
        "Ours is behind the shed, where the nettles grow as tall as the children.",
        "Nobody planted the foxgloves there, and nobody would dare to move them.",
        "In June the bees come by the hundreds and hold their meetings in the open.",
        "We mow around it and call it the parliament.",
        "When the first frost comes, the stalks stay up like the masts of a small brown fleet.",
        "In spring we find that it has governed itself quite well.",
    ),
    (
        "The night train had one sleeping car and a cook who sang.",
        "He sang while he cut the bread, and more quietly while he counted the change.",
        "Somewhere after the third tunnel the lights of a village went by, all at the same speed.",
        "A boy across the aisle asked whether the moon was following us.",
        "His grandmother said that it was, but only because we had been polite.",
        "Toward morning the river appeared beside the rails and kept us company to the city.",
        "Nobody wanted to be the first to stand up.",
    ),
    (
        "There is a map in the library that shows a lake where no lake has ever been.",
        "The mapmaker put it there, people say, to catch anyone who copied his work.",
        "Two hundred years later a family went looking for it with a picnic and a small boat.",
        "They found a wide meadow, full of larks, and ate their lunch by its edge.",
        "The children rowed the boat across the grass and came back with a fine catch of daisies.",
        "On newer maps the place is called Lake Meadow.",
        "The mapmaker would have been furious, or delighted.",
    ),
    (
        "Bread is mostly waiting.",
        "You mix what little there is to mix, and then the flour does the thinking.",
        "In the first hour nothing seems to happen at all.",
        "In the second, the dough rises so slowly that you only notice when you look away.",
        "A kitchen changes its mood while bread is in it; voices drop, doors close with care.",
        "When the crust begins to crackle on the rack, it sounds like very small applause.",
        "The first slice is always cut too soon, and it is always the best one.",
    ),
    (
        "The clockmaker's daughter kept the clocks that would not keep time.",
        "She had eleven of them along the wall, each wrong in its own way.",
        "One gained an hour in every thunderstorm; one stopped whenever somebody told a lie.",
        "Customers came in for a new strap and stayed to watch them disagree.",
        "'Which of them is right?' a stranger asked her.",
        "'Twice a day, all of them,' she said, 'and never at the same moment.'",
        "He bought the one that stopped, and was back within the week.",
    ),
    (
        "After the storm the beach was covered with things that had been somewhere else.",
        "There were planks with numbers, a red glove, an orange, and a chair without a seat.",
        "We set the chair upright so that it faced the sea.",
        "All day people walked up to it, thought for a moment, and put something beside it.",
        "By evening it had a lamp, a book with swollen pages, and half a bottle of lemonade.",
        "The tide took the whole room that night.",
        "We like to think that it was delivered.",
    ),
    (
        "The oldest tree on the square is a plane tree, and it leans on a crutch of iron.",
        "Four generations of pigeons have signed it.",
        "On market days the cheese woman hangs her scale from its lowest branch.",
        "Once a surveyor came to say that it would have to go within the year.",
        "He sat down in its shade to write his report, and it was a hot afternoon.",
        "That was thirty summers ago.",
        "The report, they say, is still being finished.",
    ),
)

CLOSERS: Final[tuple[str, ...]] = (
    "Quiet.",
    "Then quiet.",
    "Nobody spoke again.",
    "The rain had stopped.",
    "Outside, the rain had stopped.",
    "And the wind had turned south.",
    "By then, the wind had turned south.",
    "And so the long day came to rest.",
)
"""The closer at index i has i + 1 words: one of them fills a text up to the words asked for."""

GREETING: Final = "Hello! I'm one of the simulated workers, and happy to write you something."

SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "latin": (
        "Ein Dachs sitzt früh am Morgen vor dem Bäckerladen und wartet auf die Brötchen.",
        "Zażółć gęślą jaźń, powiedziała ciocia i nalała wszystkim herbaty.",
        "Üç küçük köprü var: biri çocuklar için, biri kediler için, biri de öylesine.",
    ),
    "cyrillic": (
        "Утром над рекой стоял туман, и лодка казалась больше, чем была.",
        "Бабушка поставила самовар и сказала, что спешить некуда.",
        "Їжак приніс до ґанку яблуко й одразу ж пішов.",
    ),
    "greek": (
        "Το πρωί η θάλασσα ήταν ήσυχη σαν γυαλί.",
        "Ο ψαράς έδεσε τη βάρκα του και χαμογέλασε στα γατιά.",
        "Στο καφενείο μιλούσαν όλοι μαζί και κανείς δεν βιαζόταν.",
    ),
    "arabic": (
        "في الصباح كانت الحديقة هادئة والعصافير تغني.",
        "جلس الجد تحت شجرة التين وحكى حكاية قديمة.",
        "قال الطفل: أريد أن أعرف أين ينام القمر؟",
    ),
    "devanagari": (
        "सुबह नदी के किनारे ठंडी हवा चल रही थी।",
        "दादी ने चाय बनाई और एक पुरानी कहानी सुनाई।",
        "बच्चों ने पूछा कि चाँद हमारे साथ क्यों चलता है।",
    ),
    "thai": (
        "เช้านี้หมอกลงหนาทั่วหุบเขา",
        "แมวสามตัวนั่งรอปลาอยู่หน้าตลาดน้ำ",
        "ยายยิ้มแล้วบอกว่าไม่ต้องรีบ",
    ),
    "chinese": ("清晨的湖面很安静,像一面旧镜子。", "老先生在树下泡茶,请路过的人坐一会儿。"),
    "japanese": (
        "朝の駅には、猫が一匹と、眠そうな駅員さんがいました。",
        "パン屋のドアから、いい匂いがします。",
    ),
    "korean": (
        "아침 시장에는 감과 웃음이 가득했다.",
        # The same script in conjoining jamo: one syllable is two or three code points.
        "\u1112\u1161\u11ab\u1100\u1173\u11af \u110b\u1175\u1105\u1173\u11b7.",
        "\u1112\u1161\u1102\u1173\u11af\u110b\u1175 \u1111\u1161\u1105\u1161\u11ab\u1103\u1161.",
    ),
    "combining": (
        # Letters with separate marks: acute, ring, diaeresis, tilde; Vietnamese with two on one.
        "Le cafe\u0301 des a\u030angstro\u0308ms n'est pas ferme\u0301, sen\u0303or.",
        "Tie\u0302\u0301ng Vie\u0323\u0302t co\u0301 nhie\u0302\u0300u da\u0302\u0301u.",
        "Q\u0307\u0323 and x\u0302\u0330\u0316 are letters too, says the t\u0361s.",
    ),
    "emoji": (
        # Skin tones, a family and a profession joined by U+200D, a keycap, variation selectors.
        "A wave \U0001f44b\U0001f3fd from row 3\ufe0f\u20e3, and rain \u26c8\ufe0f later.",
        "The family \U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 is here.",
        "An astronaut \U0001f469\U0001f3fe\u200d\U0001f680 and her \u2764\ufe0f\u200d\U0001f525.",
        # Flags: pairs of regional indicators, a sequence with U+200D, one spelled in tags.
        "Three flags: \U0001f1e9\U0001f1ea\U0001f1ef\U0001f1f5\U0001f1e7\U0001f1f7.",
        "One of many colours: \U0001f3f3\ufe0f\u200d\U0001f308.",
        "Scotland: \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f.",
    ),
}
"""By script, sentences whose characters are hard on code that counts or cuts text."""

ASKED_AS: Final[Mapping[str, tuple[str, ...]]] = {
    "latin": ("german", "deutsch", "polish", "turkish"),
    "cyrillic": ("cyrillic", "russian", "ukrainian", "по-русски"),
    "greek": ("greek", "ελληνικά"),
    "arabic": ("arabic", "بالعربية"),
    "devanagari": ("devanagari", "hindi", "हिन्दी"),
    "thai": ("thai", "ไทย"),
    "chinese": ("chinese", "cjk", "中文"),
    "japanese": ("japanese", "日本語"),
    "korean": ("korean", "jamo", "hangul", "한국어"),
    "combining": ("combining", "diacritics", "vietnamese"),
    "emoji": ("emoji", "emojis", "flags"),
}
"""The words by which a prompt asks for a script."""
