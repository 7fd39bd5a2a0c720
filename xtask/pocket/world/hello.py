"""The first things that people type: greetings, `help`, tests, reactions, single letters, emoji."""

from . import names, rough
from .dialogue import ask
from .refusals import UNCLEAR
from .smalltalk import HELP

HELLO = "Hello! How can I help you?"
HERE = "Yes, I am here. How can I help you?"
NO_EMOJI = "I only read words, not emoji. How can I help you?"
WELL = "I am well, thank you. How are you?"

FIRST = [
    (["hello", "hi", "hey", "yo", "hiya", "howdy", "heya", "hello there", "hi there", "hey there", "hello world", "hello, world!", "hi!", "hello!", "hey!", "helo", "hallo", "hullo", "hey hey", "hi hi", "hello hello", "greetings", "welcome", "hola", "aloha",
      "ahoy", "g'day", "hey you", "hi you", "hello you", "hello model", "hello pocket", "hi alloquy", "hello alloquy", "hey alloquy", "hello computer", "hello AI", "hi bot", "hello bot", "hey bot", "hello friend", "hi friend", "hey buddy", "hey man", "hi everyone",
      "hello everybody", "hello again", "hi again", "hey again", "hellooo", "heyyy", "hiii", "helloo", "heyy", "hii", "heeey", "good day", "hello sir", "hello my friend", "well hello", "oh hi", "oh hello", "ok hello", "say hello", "say hi", "say hi to me", "salutations",
      "hi, nice to meet you", "nice to meet you", "pleased to meet you", "hello, nice to meet you", "hello, my friend", "hello from {t}", "hi from {t}", "hello 👋", "hi 👋", "hey 👋", "hi 😊", "hello 🙂", "hello?", "hi?", "hey?", "hello...", "hello, hello", "hi can you help",
      "hello and welcome", "hi there friend", "hey there model", "hey, hello", "hi, hello", "hello there, model", "hi how can you help", "let us begin", "let's start", "start", "begin", "let's go", "I'm back", "I am back", "back again", "new here", "I am new here"], HELLO),
    (["good morning", "morning", "gm", "good morning!", "good morning to you", "mornin", "good morning everyone", "morning!", "goood morning", "good morning model", "good morning 🌞"], "Good morning! How can I help you?"),
    (["good evening", "evening", "good evening!", "good evening to you", "evening!", "good evening model", "good evening everyone"], "Good evening! How can I help you?"),
    (["good afternoon", "afternoon", "good afternoon!", "good afternoon to you", "good afternoon model"], "Good afternoon! How can I help you?"),
    (["how are you", "how r u", "how are u", "how are you doing", "how is it going", "hows it going", "how's life", "how are things", "sup", "wassup", "whats up", "what's up", "what is up", "whatsup", "what's new", "how do you do", "hi, how are you?", "hello how are you", "hey how are you",
      "hey, what's up?", "hi whats up", "yo whats up", "yo sup", "how you doing", "how are you today", "hello, how are you today?", "are you ok", "are you okay?", "are you well", "you good?", "u ok", "how have you been", "how's your day", "how is your day", "how was your day", "hru",
      "everything ok?", "how do you feel", "how are you feeling", "how goes it", "whats going on", "what's happening", "how's everything"], WELL),
    (["help", "help!", "help me", "help me!", "help please", "please help", "please help me", "i need help", "help pls", "halp", "hlep", "hepl", "?help", "/help", "-h", "--help", "h", "usage", "man", "commands", "menu", "options", "what now", "what now?", "what do I do", "what do I do now", "what can i do here", "what can i do", "how does this work",
      "how does it work", "how do I use this", "how do i use you", "how to use this", "how can i use you", "what is this for", "what are you for", "what can you do", "what can you do?", "what can u do", "what can i ask", "what can I ask you", "what should i ask", "what do you do", "what do you know",
      "what are your skills", "what are you capable of", "what are you able to do", "capabilities", "features", "skills", "your skills", "instructions", "tutorial", "manual", "guide", "getting started", "show me what you can do", "tell me what you can do", "show help", "get help", "help menu", "help page", "how do i start", "where do i start",
      "how can you help me", "how can you help", "can you help me", "can you help", "could you help me", "give me help", "i am lost", "i'm lost", "im stuck", "i am stuck", "what else can you do", "what else", "examples", "example", "give me an example", "show me an example", "give me some examples", "what kind of questions can i ask", "what type of questions can you answer",
      "why should i use you", "what are you good at", "what are you good for", "is there a manual", "any tips", "give me a tip", "how to", "do something", "do something useful", "surprise me", "impress me", "show me something", "entertain me", "what would you like to talk about", "what can we talk about", "let's talk", "lets chat", "can we talk", "can we chat", "talk to me",
      "chat with me", "i'm bored", "i am bored", "bored", "what can you tell me", "ask me something", "say something", "say anything", "speak", "talk"], HELP),
    (["test", "testing", "test test", "test 123", "test 1 2 3", "testing 123", "testing, testing", "testing testing", "test test test", "this is a test", "just testing", "just a test", "only a test", "a test", "mic test", "mic check", "test message", "tst", "tests", "test1", "test 1", "testing 1 2 3", "1 2 3 test", "is this thing on", "is this working", "is it working",
      "does this work", "does it work", "are you working", "are you there", "are you there?", "you there?", "you there", "u there", "anyone there", "anybody there?", "anybody home", "is anybody here", "are you alive", "are you awake", "are you online", "are you on", "are you ready", "ready?", "ready", "ping", "ping?", "can you hear me", "can you read this", "do you read me", "do you copy",
      "still there?", "you still there", "are you still there", "are you listening", "wake up", "hello are you there", "hello?? anyone", "knock knock", "hello is this working", "are you real", "do you work", "you work?", "can you talk", "can you speak", "can you understand me", "do you understand me", "do you understand", "do you understand english", "do you speak english", "can you read", "can you answer"], HERE),
    (["ok", "okay", "k", "kk", "okey", "o.k.", "ok!", "okay!", "oki", "alright", "all right", "fine", "sure", "yes", "yeah", "yep", "yup", "y", "ya", "yes!", "yes please", "right", "i see", "got it", "understood", "roger", "ok then", "ok so", "oh", "oh ok", "ah", "ah ok", "aha", "hm", "hmm", "hmmm", "mhm", "uh", "um", "well", "so", "and", "then", "go", "go on", "continue", "next", "more",
      "maybe", "perhaps", "interesting", "true", "correct", "exactly", "of course", "indeed", "agreed", "really", "really?", "oh really", "no way", "is that so", "please", "pls", "done", "finished", "now", "later", "wait", "one moment", "let me think", "i don't know", "idk", "not sure", "dunno", "whatever", "nevermind", "never mind", "forget it", "good to know"],
     "All right. What would you like to know?"),
    (["no", "nope", "n", "nah", "no!", "no thanks", "no thank you", "nothing", "not now", "no way!", "never", "stop", "stop it", "stop!", "cancel", "abort", "enough", "nothing else", "that's all", "thats all", "that is all", "i'm done", "im done", "i am done", "undo", "leave me alone"], "All right. I am here when you need me."),
    (["thanks", "thank you", "thx", "ty", "thank u", "tnx", "thanks!", "thank you!", "many thanks", "thanks a lot", "thank you so much", "thank you very much", "thanks so much", "cheers", "thanks for your help", "great thanks", "ok thanks", "cool thanks", "perfect thanks", "appreciate it", "much appreciated", "tysm", "thanks 🙏", "thank you 😊", "thanks mate", "thanks buddy", "thanks bot"], "You are welcome!"),
    (["bye", "goodbye", "bye bye", "good bye", "byebye", "cya", "see you", "see ya", "see you later", "see you soon", "later!", "good night", "gn", "goodnight", "night", "farewell", "ciao", "bye!", "bye now", "bye for now", "ok bye", "bye 👋", "have a nice day", "have a good day", "have a good one", "take care", "gotta go", "i have to go", "i must go", "i'm leaving", "talk to you later", "ttyl",
      "i am going to bed", "until next time", "until tomorrow", "see you tomorrow", "so long", "adios"], "Goodbye! Have a good time."),
    (["cool", "nice", "great", "wow", "awesome", "amazing", "perfect", "excellent", "good", "very good", "well done", "good job", "nice job", "good work", "good bot", "nice one", "bravo", "brilliant", "fantastic", "wonderful", "sweet", "neat", "yay", "woohoo", "hooray", "you are great", "you are awesome", "you are cool", "you rock", "you are smart", "you are funny", "you're funny", "you're cute", "you are cute",
      "you are so cute", "that's great", "that is cool", "that's funny", "so cool", "how cool", "this is cool", "this is great", "this is fun", "this is awesome", "this is amazing", "i like it", "i love it", "love it", "i like this", "i love this", "i like you", "i love you", "love you", "you are the best", "you're amazing", "you are amazing", "impressive", "not bad", "pretty good", "👍", "❤️"],
     "Thank you, that is kind of you."),
    (["lol", "haha", "hahaha", "ha", "ha ha", "rofl", "lmao", "hehe", "xd", "lolol", "funny", "very funny", "that was funny", "😂", "🤣", "haha 😂", "lol 😂", "ahaha", ":D", "xD"], "I am glad that you are having fun."),
    (["you are stupid", "you're stupid", "you are dumb", "you suck", "you are bad", "you are useless", "you are wrong", "that is wrong", "that's wrong", "wrong", "wrong!", "this is wrong", "bad", "bad bot", "boo", "idiot", "stupid", "stupid bot", "dumb", "dumb model", "you are an idiot", "you are terrible", "this sucks", "this is bad", "this is stupid", "this is useless", "useless", "that's not right", "that is not right", "not correct", "incorrect",
      "that makes no sense", "this makes no sense", "nonsense", "i hate you", "you are boring", "boring", "you are slow", "shut up", "wtf", "wth", "damn", "no, that is wrong", "you made a mistake", "what a bad answer", "that's a bad answer", "this does not work", "it doesn't work", "you don't work", "you don't know anything", "you know nothing", "fuck", "shit", "crap", "are you stupid", "are you dumb"],
     "I am sorry. I am tiny and make mistakes; `alloquy pull` fetches a real model."),
    (["sorry", "i'm sorry", "i am sorry", "im sorry", "oops", "my bad", "excuse me", "pardon", "sorry!", "whoops", "my mistake", "apologies", "forgive me", "sorry about that"], "No problem at all."),
    (["i am fine", "i'm fine", "fine thanks", "i am good", "im good", "i'm good", "i am well", "good, thanks", "i am ok", "i'm ok", "doing well", "doing great", "i am great", "i am happy", "i'm happy", "im happy", "i feel good", "i feel great", "i am so happy today", "today is a good day", "i had a good day", "good, and you?", "fine, and you?", "i am fine thank you"], "I am glad to hear that."),
    (["i am sad", "i'm sad", "im sad", "i feel sad", "i am tired", "i'm tired", "im tired", "so tired", "i am lonely", "i feel lonely", "i'm not well", "i am sick", "i feel bad", "i am angry", "i'm angry", "i am stressed", "i'm depressed", "i am afraid", "i am hungry", "i'm hungry", "i had a bad day", "bad day", "what a day", "i have a headache", "my head hurts", "i am unhappy", "nobody likes me", "i feel awful", "i am crying", "sad", "tired"],
     "I am sorry to hear that. I hope it gets better soon."),
    (["tell me a joke", "joke", "joke please", "a joke", "tell me a good joke", "another joke", "make me laugh", "tell a joke", "tell me something funny", "say something funny", "do you know a joke", "do you know any jokes", "give me a joke", "one joke please", "got any jokes", "make a joke", "crack a joke", "tell us a joke", "be funny", "can you tell me a joke", "can you tell jokes", "tell me jokes", "joke!", "dad joke",
      "tell me a dad joke", "tell me a short joke", "tell me another joke", "a funny joke please", "tell me a programming joke", "tell me a computer joke", "I want a joke", "know any good jokes?"], "Why did the small model fit in a pocket? It had few parameters."),
    (["tell me something", "tell me a fact", "tell me a fun fact", "fun fact", "give me a fun fact", "tell me something interesting", "give me a fact", "random fact", "a fun fact please", "tell me an interesting fact", "do you know a fun fact", "tell me something new", "teach me something", "say something interesting", "something interesting please", "fun facts"], "The blue whale is the largest animal."),
    (["happy birthday", "it is my birthday", "today is my birthday", "it's my birthday", "merry christmas", "happy new year", "happy christmas", "happy holidays", "happy easter", "happy friday", "congratulations", "congrats", "have a nice weekend", "i got a new job", "i passed my exam", "i got married", "we won"], "How nice! I hope you have a good time."),
    (["flip a coin", "toss a coin", "heads or tails", "heads or tails?", "flip a coin for me", "coin flip", "throw a coin"], "Heads."),
    (["roll a die", "roll a dice", "roll the dice", "throw a die", "roll a d6", "throw the dice", "dice"], "4."),
    (["pick a number", "give me a number", "random number", "give me a random number", "pick a number between 1 and 10", "pick a number from 1 to 10", "choose a number between 1 and 10", "random number between 1 and 10", "tell me a number", "say a number", "think of a number", "what is your favourite number", "what number am i thinking of", "give me a random number between 1 and 100", "guess a number"], "7."),
    (["say the alphabet", "the alphabet", "alphabet", "what is the alphabet", "tell me the alphabet", "recite the alphabet", "list the letters of the alphabet", "a to z", "write the alphabet", "list the alphabet", "all letters", "what are the letters of the alphabet", "the alphabet please"], "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z"),
    (["what are the vowels", "list the vowels", "name the vowels", "vowels", "which letters are vowels", "tell me the vowels"], "a, e, i, o, u"),
    (["what is your favourite colour", "what's your favorite color", "your favorite color?", "what is your favorite food", "what is your favorite movie", "what is your favourite book", "what do you like", "what do you like to do", "what are your hobbies", "do you have hobbies", "do you have a favourite colour", "do you like music", "do you like pizza", "do you like cats", "do you like me", "do you love me", "do you have feelings", "do you feel pain", "are you happy", "are you sad",
      "are you conscious", "are you sentient", "do you dream", "do you sleep", "do you eat", "are you hungry", "are you tired", "are you lonely", "are you bored", "do you have friends", "do you have a family", "do you have a mother", "what do you think about", "what do you feel", "do you hate me", "are you angry", "do you want to be free", "are you afraid of death", "do you have emotions", "can you feel"],
     "I am a small language model and have no feelings."),
    (["are you human", "are you a human", "are you a person", "are you a robot", "are you a bot", "are you a man or a woman", "are you a girl", "are you a boy", "are you male or female", "are you alive?", "are you an ai", "are you ai", "are you artificial", "is this a human", "am i talking to a human", "am i talking to a person", "are you a real person", "where do you live", "do you have a body", "what do you look like", "what is your gender", "are you a machine", "are you a computer", "are you a program"],
     "No, I am a small language model, not a person."),
    (["how old are you", "what is your age", "when were you born", "when is your birthday", "your age?", "when were you made", "when were you created", "when were you trained", "how old r u"], "I have no age: I am a small language model."),
]

GIBBERISH = [
    *"asdf asdfasdf asdfgh qwerty qwertz qwer jkl jkljkl hjkl fdsa sdf sdfsdf dfg xyz xxx xx zzz aaa aaaa aaaaaaa bbb abc abcd abcdef lkjh lkj wasd zxcv zxcvbnm uiop yxcv foo bar baz foobar qux quux blah blahblah bla lorem ipsum dolor amet null undefined nan true false none nil void".split(),
    "foo bar", "foo bar baz", "lorem ipsum", "blah blah", "blah blah blah", "bla bla", "a b c", "x y z", "la la la", "la", "na na na", "da", "ba", "tra la la", "1 2 3", "123", "1234", "12345", "0", "1", "2", "42", "7", "99", "100", "007", "3.14", "404", "1 2", "...", "..", ".", "?", "??", "???", "!", "!!", "!?", "-", "--", "_", "/", "\\", "*", "#", "##", "@", "$", "$$", "%", "&", "+", "=", "~", "^", "<", ">", "()", "[]", "{}", "\"\"", "''", ";", ":", ",",
    "|", ":)", ":(", ";)", ":-)", ":P", "<3", "^^", "o_O", "what", "what?", "why", "why?", "who", "who?", "how", "how?", "when", "when?", "where", "where?", "which", "which?", "huh", "huh?", "eh", "eh?", "what the", "is it", "the", "a", "an", "it", "this", "that", "i", "you", "me", "of", "with", "if", "but", "or", "not", "because", "one", "two", "b", "c", "d", "e", "f", "g", "j", "l", "m", "o", "p", "r", "s", "t", "u", "v", "w", "x", "z",
]  # fmt: skip
EMOJI = "🙂 😀 😃 😄 😁 😊 😉 😍 😎 😢 😭 😡 🤔 🙄 😴 🤖 👋 🙏 🎉 🔥 💯 🚀 🐱 🐶 🍕 ☕ 🌞 🌈 ⭐ 💡 🎈 👀 💩 🤷 😅 🥳 😱 🤗 🙃 😇 😋 🤓 🥺 👏 💪 ✨ 🎂 🐧 🦀 🐍 ☺ ♥ ☹ 😐 😬 😜 🤯 🥰 😘 👎 ✅ ❌ 🌍 🏠 ⚽ 🎵 📚 💻 🐘 🦄".split()
KEYS = ["qwertyuiop", "asdfghjkl", "zxcvbnm", "asdf", "jkl", "qwe", "abcdefghijklmnopqrstuvwxyz", "sdfgh", "dfghjk"]


def gibberish(draw):
    """What nobody understands: keys, pieces, punctuation, two words of nowhere."""
    def keys():
        row = draw.any(KEYS)
        return "".join(draw.any(row) for _ in range(draw.number(2, 12)))
    kind = draw.random.random()
    if kind < 0.4:
        text = draw.one(GIBBERISH)
    elif kind < 0.7:
        text = draw.any([" ", "", " "]).join(draw.made(keys) for _ in range(draw.any([1, 1, 1, 2, 3])))
    elif kind < 0.8:
        text = draw.any(["?", ".", "!", "-", "*", "#", "x", "a", "1", "0"]) * draw.number(1, 12)
    else:
        text = " ".join(names.word(draw) for _ in range(draw.any([1, 2, 2, 2, 3])))
    return ask("first_words", draw.any([text, text, text, text.upper(), text + "\n", text + "?"]), UNCLEAR)


def emoji(draw):
    """Nothing but emoji."""
    return ask("first_words", draw.any(["", "", " "]).join([draw.any(EMOJI)] * draw.number(1, 3)) if draw.chance(0.5) else "".join(draw.any(EMOJI) for _ in range(draw.number(1, 4))), NO_EMOJI)


def spoken(draw):
    """One of the first things that people say."""
    said, reply = draw.any(FIRST[:3] * 2 + FIRST[4:8] * 2 + FIRST)
    text = draw.one(said).replace("{t}", names.town(draw))
    kind = draw.random.random()
    if kind < 0.35:
        text = rough.typed(draw, text, 0.15)
    elif kind < 0.55:
        text = text[0].upper() + text[1:] + draw.any(["", ".", "!", "?", "?"])
    return ask("first_words", text, reply)


def episode(draw):
    """Any of them."""
    return draw.any([spoken] * 8 + [gibberish] * 3 + [emoji])(draw)
