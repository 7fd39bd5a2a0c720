"""People, places, colours and things; and made-up words, of which there is no end, so that copying is learnt, not names."""

ONSETS = "b br c ch cl d dr f fl g gl gr h j k kl kr l m n p pl pr q r s sh sk sl st t th tr v w y z".split()
VOWELS = "a e i o u a e i o ai ea ee ia io oa ou".split()
CODAS = ["", "", "", "", "n", "r", "l", "s", "m", "d", "k", "t", "x", "nd", "rn", "lo", "ra", "no", "ka", "vi"]

PEOPLE = """Anna Ben Clara David Emma Felix Grace Hugo Ida Jonas Karin Leo Mia Noah Olga Paul Rosa Sam Tara Victor Wendy
Xavier Yara Zoe Alice Boris Celia Dennis Elena Frank Gina Harold Irene Jack Kate Lucas Maria Nina Oscar Petra Quinn Robert Sofia
Thomas Ursula Vera Walter Yusuf Zelda Ahmed Bianca Carlos Dora Erik Fatima George Hannah Ivan Julia Kevin Laura Martin Nadia
Omar Priya Ravi Sarah Tim Uma Vincent Willow Aisha Bruno Chen Diego Esther Farah Gustav Helena Igor Jasmin Kenji Lena Mateo
Nora Otto Pia Ramon Simon Tessa Udo Valeria Wei Yuki Zara Adam Bella Conrad Daisy Edgar Fiona Gerald Holly Isaac Jana Klaus
Linda Marcus Naomi Oliver Pedro Rita Stefan Tobias Viola Wanda Amir Beth Colin Diana Elias Flora Gavin Heidi Iris Jorge Kira
Luca Milan Nils Opal Pablo Rhea Sven Tina Umar Vito Wren Yann Zane Agnes Bernd Cora Dario Edith Finn Gwen Hector Ines Joel
Lars Maya Niko Orla Percy Ruth Selma Theo Una Vince Wilma Yvonne Zach Alma Basil Cleo Dylan Eva Fritz Greta Hank Ilse Jim
Kim Lydia Max Nancy Owen Polly Ralph Susan Tom Vicky Will Yolanda""".split()

COLOURS = """red blue green yellow orange purple pink brown black white grey violet turquoise crimson beige golden silver
indigo maroon teal""".split()

TOWNS = """Paris London Berlin Madrid Rome Vienna Oslo Lisbon Athens Dublin Prague Warsaw Budapest Helsinki Copenhagen Stockholm
Brussels Amsterdam Zurich Geneva Munich Hamburg Cologne Milan Naples Venice Florence Turin Barcelona Seville Valencia Porto Lyon
Nice Marseille Bordeaux Toulouse Glasgow Edinburgh Manchester Leeds Bristol York Cardiff Belfast Cork Galway Bergen Malmo Turku
Tampere Riga Vilnius Tallinn Krakow Gdansk Brno Graz Linz Salzburg Zagreb Split Belgrade Sofia Bucharest Istanbul Ankara Cairo
Tunis Rabat Lagos Accra Nairobi Kampala Lima Quito Bogota Caracas Havana Boston Chicago Denver Dallas Seattle Portland Austin
Toronto Montreal Vancouver Ottawa Sydney Perth Melbourne Brisbane Auckland Wellington Tokyo Osaka Kyoto Nagoya Seoul Busan
Beijing Shanghai Delhi Mumbai Chennai Karachi Lahore Dhaka Hanoi Bangkok Manila Jakarta Singapore Dubai Doha Tehran Baghdad
Amman Beirut Haifa""".split()

PETS = "dog cat rabbit hamster parrot goldfish turtle pony mouse canary lizard guinea-pig".split()

FOODS = """pizza pasta soup rice bread cheese salad curry sushi tacos noodles pancakes waffles chocolate dumplings lasagna
risotto stew omelette falafel""".split()

HOBBIES = """chess painting hiking swimming cooking gardening dancing reading cycling fishing knitting climbing running sailing
skiing singing pottery juggling archery photography""".split()

JOBS = """teacher nurse baker farmer pilot doctor painter carpenter lawyer writer plumber singer tailor waiter dentist gardener
engineer librarian mechanic florist""".split()

FRUITS = """apples pears plums cherries oranges lemons bananas grapes peaches melons berries figs mangoes nuts eggs books pens
coins stamps marbles cards tickets chairs cups plates shells stones buttons balloons pencils""".split()

THINGS = """book lamp chair table clock mirror basket bottle bucket candle carpet hammer kettle ladder needle pillow pencil
rope saddle scarf shovel spoon ticket towel umbrella violin wallet whistle window blanket bicycle camera drum envelope
feather guitar helmet jacket key lantern magnet notebook oven piano quilt radio shirt telescope vase wagon""".split()

WORDS = """apple river stone cloud table music bread light house green plant train ocean tiger spoon chair grass night storm
beach piano lemon horse robot candle garden window planet forest silver butter pencil monkey rabbit winter summer bridge
castle dragon flower guitar island jungle kitten ladder marble needle orange pepper rocket saddle ticket valley wallet yellow
zebra cat dog sun moon tree fish bird cup hat map pen box key road snow rain leaf boat door milk sand star wolf frog king
lamp nest park ring ship tent wave yard bell coin drum farm gate hill iron jazz kite lake mint nose oak pond queen rose seed
town unit vine wind bear corn duck east fire gold hand idea jump knee lion moss north oven path quiz roof salt tail""".split()

# What tools are about.
NOUNS = """account address album article balance battery bill board brand budget calendar camera card channel chart class client
contract course customer delivery device document door engine event exam field flight folder game gate group guest heater
hotel image invoice job label lesson letter level library link lock log machine map meeting member menu model movie network
order package page parcel parking password patient payment phone photo plan player playlist policy post printer product profile
project question queue rating recipe record rental repair report review robot room route salary sample schedule screen sensor
server service shift shop signal slot song status stock store student subject summary survey system table task tax team
temperature test ticket tour tracker trip vehicle version video visit volume warehouse website wheel worker""".split()

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()

# All words in lower case, to make further ones of their pieces.
LOWER = [word.lower() for word in WORDS + THINGS + FOODS + FRUITS + PETS + HOBBIES + JOBS + COLOURS + PEOPLE + TOWNS + NOUNS if word.isalpha()]
LISTED = set(LOWER)


def made_up(draw, syllables=2):
    """A word that nobody has written before, of this side of the split."""
    def make():
        return "".join(draw.any(ONSETS) + draw.any(VOWELS) + draw.any(CODAS) for _ in range(syllables))
    return draw.made(make)


def spliced(draw):
    """A word of the beginning of one listed word and the end of another, of this side: it has pieces that listed ones have."""
    def make():
        # Often the whole of a word, which is one token: it is copied here, if nowhere else.
        first, last = draw.any(LOWER), draw.any(LOWER)
        whole = draw.any(["first", "first", "last", "neither", "neither"])
        word = (first if whole == "first" else first[: draw.number(2, 5)]) + (last if whole == "last" else last[-draw.number(2, 4) :])
        return make() if len(word) > 12 or word in LISTED else word
    return draw.made(make)


def numbered(draw):
    """A listed word with a number behind it, of this side: any word, so that each that is one token is copied somewhere."""
    return draw.made(lambda: f"{draw.any(LOWER)}{draw.any(['', '', '-', '_'])}{draw.number(1, draw.any([9, 99, 999]))}")


def invented(draw, syllables=None):
    """A word that is in no list: of sounds, or of pieces of listed words."""
    return spliced(draw) if draw.chance(0.35) else made_up(draw, syllables or draw.number(1, 2))


def person(draw):
    """A first name, listed or invented."""
    return draw.one(PEOPLE) if draw.chance(0.5) else invented(draw).capitalize()


def town(draw):
    """A town, listed or invented."""
    return draw.one(TOWNS) if draw.chance(0.5) else invented(draw, 2).capitalize()


def word(draw):
    """A word in lower case, listed or invented."""
    return draw.one(WORDS if draw.chance(0.5) else LOWER) if draw.chance(0.6) else invented(draw)


def thing(draw):
    """Something one can hold, listed or invented."""
    return draw.one(THINGS) if draw.chance(0.6) else invented(draw, 2)


def code(draw):
    """A code of letters and digits."""
    def make():
        letters = "".join(draw.any("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(draw.number(1, 3)))
        return f"{letters}-{draw.number(10, 9999)}" if draw.chance(0.5) else f"{letters}{draw.number(10, 999)}"
    return draw.made(make)
