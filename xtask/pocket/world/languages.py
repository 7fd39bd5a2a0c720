"""Questions in other languages, whole ones and words of them in any order; all are answered alike."""

from .dialogue import ask
from .refusals import ENGLISH

SENTENCES = {
    "German": "Hallo, wie geht's?|Hallo, wie geht es dir?|Wie geht es Ihnen?|Wer bist du?|Was kannst du?|Wie heißt du?|Guten Morgen|Guten Tag|Guten Abend|Gute Nacht|Danke|Vielen Dank|Bitte hilf mir|Hilfe|Auf Wiedersehen|Tschüss|Sprichst du Deutsch?|Kannst du Deutsch?|Was ist die Hauptstadt von Frankreich?|Wie spät ist es?|Wie ist das Wetter heute?|Erzähl mir einen Witz|Schreib mir ein Gedicht|Was ist das?|Ich verstehe nicht|Ich heiße Anna|Mein Name ist Peter|Ich wohne in Berlin|Was ist zwei plus zwei?|Bist du ein Mensch?|Kannst du mir helfen?|Ich brauche Hilfe|Wo finde ich das?|Warum ist der Himmel blau?|Übersetze das ins Englische|Wie funktioniert das Programm?|Guten Tag, ich habe eine Frage|Moin|Servus|Grüß Gott|Ja|Nein|Alles klar?|Was machst du gerade?|Schönen Tag noch|Fasse diesen Text zusammen|Wie alt bist du?|Welche Sprachen sprichst du?|Ich liebe dich|Das ist gut",
    "French": "Bonjour|Bonsoir|Salut|Bonjour, comment ça va ?|Comment allez-vous ?|Comment vas-tu ?|Ça va ?|Qui es-tu ?|Qui êtes-vous ?|Comment tu t'appelles ?|Quel est ton nom ?|Que peux-tu faire ?|Merci|Merci beaucoup|Au revoir|S'il vous plaît|Aide-moi|Parles-tu français ?|Parlez-vous français ?|Quelle est la capitale de la France ?|Quelle heure est-il ?|Quel temps fait-il ?|Raconte-moi une blague|Écris un poème|Je ne comprends pas|Je m'appelle Marie|J'habite à Paris|Combien font deux et deux ?|Peux-tu m'aider ?|Pourquoi le ciel est bleu ?|Traduis en anglais|Bonne nuit|À bientôt|Je t'aime|Oui|Non|Qu'est-ce que c'est ?|Où est la gare ?|Comment ça marche ?|J'ai une question|Résume ce texte|Quel âge as-tu ?|C'est bien|D'accord|Enchanté",
    "Spanish": "Buenos días|Buenas tardes|Buenas noches|Hola, ¿cómo estás?|¿Cómo estás?|¿Qué tal?|Hola, ¿qué tal?|¿Quién eres?|¿Cómo te llamas?|¿Qué puedes hacer?|Gracias|Muchas gracias|Hasta luego|Por favor|Ayuda|Ayúdame|¿Hablas español?|¿Cuál es la capital de Francia?|¿Qué hora es?|¿Qué tiempo hace hoy?|Cuéntame un chiste|Escribe un poema|No entiendo|Me llamo Carlos|Mi nombre es Ana|Vivo en Madrid|¿Cuánto es dos más dos?|¿Puedes ayudarme?|¿Por qué el cielo es azul?|Traduce esto al inglés|Te quiero|Sí|¿Qué es esto?|¿Dónde está la estación?|¿Cómo funciona?|Tengo una pregunta|Resume este texto|¿Cuántos años tienes?|Está bien|Mucho gusto|hola como estas|que haces|quien eres|hola que tal|¿Eres humano?",
    "Italian": "Buongiorno|Buonasera|Ciao, come stai?|Come stai?|Come va?|Chi sei?|Come ti chiami?|Cosa puoi fare?|Cosa sai fare?|Grazie|Grazie mille|Arrivederci|Per favore|Aiuto|Aiutami|Parli italiano?|Qual è la capitale della Francia?|Che ore sono?|Che tempo fa oggi?|Raccontami una barzelletta|Scrivi una poesia|Non capisco|Mi chiamo Luca|Abito a Roma|Quanto fa due più due?|Puoi aiutarmi?|Perché il cielo è blu?|Traduci in inglese|Ti amo|Buonanotte|Che cos'è?|Dov'è la stazione?|Come funziona?|Ho una domanda|Riassumi questo testo|Quanti anni hai?|Va bene|Piacere|Sei umano?|Dimmi qualcosa",
    "Portuguese": "Bom dia|Boa tarde|Boa noite|Olá|Oi|Olá, tudo bem?|Tudo bem?|Como vai você?|Como você está?|Quem é você?|Qual é o seu nome?|O que você pode fazer?|Obrigado|Obrigada|Muito obrigado|Até logo|Por favor|Ajuda|Me ajude|Você fala português?|Qual é a capital da França?|Que horas são?|Como está o tempo hoje?|Conte uma piada|Escreva um poema|Não entendo|Meu nome é João|Eu moro em Lisboa|Quanto é dois mais dois?|Você pode me ajudar?|Por que o céu é azul?|Traduza para o inglês|Eu te amo|Sim|Não|O que é isso?|Onde fica a estação?|Como funciona?|Tenho uma pergunta|Quantos anos você tem?",
    "Dutch": "Hoi|Goedemorgen|Goedenavond|Goedendag|Hallo, hoe gaat het?|Hoe gaat het met je?|Hoe gaat het?|Wie ben jij?|Wie ben je?|Hoe heet je?|Wat kun je doen?|Wat kan je?|Dank je wel|Bedankt|Tot ziens|Alsjeblieft|Help mij|Spreek je Nederlands?|Wat is de hoofdstad van Frankrijk?|Hoe laat is het?|Wat voor weer is het vandaag?|Vertel me een grap|Schrijf een gedicht|Ik begrijp het niet|Mijn naam is Jan|Ik woon in Amsterdam|Hoeveel is twee plus twee?|Kun je mij helpen?|Waarom is de lucht blauw?|Vertaal dit naar het Engels|Ik hou van je|Ja|Nee|Waar is het station?|Hoe werkt dit?|Ik heb een vraag|Hoe oud ben je?|Welterusten|Ben je een mens?",
    "Polish": "Cześć|Dzień dobry|Dobry wieczór|Jak się masz?|Kim jesteś?|Jak masz na imię?|Co potrafisz?|Dziękuję|Do widzenia|Proszę|Pomocy|Czy mówisz po polsku?|Jaka jest stolica Francji?|Która godzina?|Jaka jest pogoda?|Opowiedz mi dowcip|Nie rozumiem|Mam na imię Jan|Mieszkam w Warszawie|Ile to jest dwa plus dwa?|Dobranoc|Tak|Nie",
    "Swedish": "Hej|God morgon|God kväll|Hur mår du?|Vem är du?|Vad heter du?|Vad kan du göra?|Tack|Tack så mycket|Hej då|Hjälp mig|Talar du svenska?|Vad är Frankrikes huvudstad?|Vad är klockan?|Berätta ett skämt|Jag förstår inte|Jag heter Erik|Jag bor i Stockholm|Hvordan har du det?|Hvem er du?|Hva heter du?|Snakker du norsk?|Takk|God dag|Tak for hjælpen|Taler du dansk?",
    "Turkish": "Merhaba|Günaydın|İyi akşamlar|Nasılsın?|Sen kimsin?|Adın ne?|Ne yapabilirsin?|Teşekkürler|Teşekkür ederim|Hoşça kal|Lütfen|Yardım et|Türkçe biliyor musun?|Fransa'nın başkenti neresi?|Saat kaç?|Bana bir fıkra anlat|Anlamıyorum|Benim adım Ali|İki artı iki kaç eder?",
    "Finnish": "Hei|Moi|Hyvää huomenta|Mitä kuuluu?|Kuka sinä olet?|Mikä sinun nimesi on?|Kiitos|Näkemiin|Puhutko suomea?|Mikä on Ranskan pääkaupunki?|En ymmärrä|Szia|Jó napot|Hogy vagy?|Ki vagy?|Köszönöm|Beszélsz magyarul?|Ahoj|Dobrý den|Jak se máš?|Kdo jsi?|Děkuji|Mluvíš česky?|Bună ziua|Ce mai faci?|Cine ești?|Mulțumesc|Vorbești română?|Xin chào|Bạn là ai?|Cảm ơn|Bạn có nói tiếng Việt không?|Apa kabar?|Siapa kamu?|Terima kasih|Selamat pagi|Siapa nama kamu?|Apakah kamu bisa bahasa Indonesia?|Kamusta ka?|Habari|Jambo|Salve|Quis es?|Gratias tibi ago|Saluton, kiel vi fartas?",
    "Russian": "Привет|Здравствуйте|Как дела?|Привет, как дела?|Кто ты?|Как тебя зовут?|Что ты умеешь?|Спасибо|До свидания|Помоги мне|Ты говоришь по-русски?|Какая столица Франции?|Который час?|Расскажи анекдот|Я не понимаю|Меня зовут Иван|Доброе утро|Сколько будет два плюс два?|Напиши стихи|Привіт, як справи?|Дякую|Хто ти?|Здравей|Как се казваш?|Добър ден",
    "Chinese": "你好|您好|你是谁？|你叫什么名字？|你能做什么？|谢谢|再见|请帮帮我|你会说中文吗？|法国的首都是哪里？|现在几点？|今天天气怎么样？|给我讲个笑话|我不明白|我叫李明|早上好|晚安|二加二等于几？|写一首诗|你好吗|請問你是誰？|把这句话翻译成英文|什么是人工智能？",
    "Japanese": "こんにちは|おはよう|おはようございます|こんばんは|あなたは誰ですか？|お名前は何ですか？|何ができますか？|ありがとう|ありがとうございます|さようなら|助けて|日本語を話せますか？|フランスの首都はどこですか？|今何時ですか？|冗談を言って|わかりません|私の名前は田中です|元気ですか？|俳句を書いて|これは何ですか？|テスト",
    "Korean": "안녕하세요|안녕|너는 누구니?|이름이 뭐예요?|무엇을 할 수 있나요?|감사합니다|안녕히 가세요|도와주세요|한국어 할 줄 알아요?|프랑스의 수도는 어디예요?|지금 몇 시예요?|농담 하나 해줘|이해가 안 돼요|제 이름은 민수입니다",
    "Arabic": "مرحبا|السلام عليكم|صباح الخير|كيف حالك؟|من أنت؟|ما اسمك؟|ماذا يمكنك أن تفعل؟|شكرا|مع السلامة|ساعدني|هل تتكلم العربية؟|ما هي عاصمة فرنسا؟|كم الساعة؟|لا أفهم|اسمي أحمد|سلام، حال شما چطور است؟|خوبی؟|متشکرم|شما کی هستید؟|آپ کیسے ہیں؟",
    "Hindi": "नमस्ते|आप कैसे हैं?|तुम कौन हो?|आपका नाम क्या है?|धन्यवाद|क्या आप हिंदी बोलते हैं?|फ्रांस की राजधानी क्या है?|मेरी मदद करो|मुझे समझ नहीं आया|আপনি কেমন আছেন?|வணக்கம்|నమస్కారం",
    "Greek": "Γεια σου|Καλημέρα|Τι κάνεις;|Ποιος είσαι;|Πώς σε λένε;|Ευχαριστώ|Μιλάς ελληνικά;|Βοήθεια|Ποια είναι η πρωτεύουσα της Γαλλίας;|שלום|מה שלומך?|מי אתה?|תודה|בוקר טוב|אתה מדבר עברית?|สวัสดี|คุณคือใคร|ขอบคุณ|გამარჯობა|Բարեւ",
}  # fmt: skip
SENTENCES = {language: text.split("|") for language, text in SENTENCES.items()}
# Small words, by which a language is known before anything is understood.
SMALL = {
    "German": "der die das und ist nicht ich du er sie wir ihr ein eine einen dem den des mit von zu auf für wie was wer wo warum wann welche welcher kann kannst können soll muss mir mich dir dich mein dein sein bitte auch aber oder noch schon nur sehr gut viel mehr heute morgen hier dort über unter zwischen nach bei aus wenn dann weil dass haben hat hast wird werden wurde machen gehen sagen geben schreiben lesen Haus Mann Frau Kind Tag Jahr Zeit Wort Sprache Stadt Land Wasser Buch Frage Antwort",
    "French": "le la les un une des du de et est ne pas je tu il elle nous vous ils elles avec pour dans sur que qui quoi où quand comment pourquoi quel quelle peux peut pouvez mon ma mes ton ta son sa ses leur bien plus très aussi mais ou donc car si avoir être faire aller dire voir c'est j'ai qu'il d'un l'homme l'eau aujourd'hui demain ici là maison homme femme enfant jour année temps mot langue ville pays livre question réponse",
    "Spanish": "el la los las un una unos y es no yo tú él ella nosotros ustedes con para en de que quien qué dónde cuándo cómo por porque cuál puedo puedes puede mi tu su bien más muy también pero o si haber ser estar hacer ir decir ver hoy mañana aquí allí casa hombre mujer niño día año tiempo palabra lengua ciudad país agua libro pregunta respuesta está son tiene tengo",
    "Italian": "il lo la i gli le un una e è non io tu lui lei noi voi loro con per in di che chi cosa dove quando come perché quale posso puoi può mio tuo suo bene più molto anche ma o se avere essere fare andare dire vedere oggi domani qui là casa uomo donna bambino giorno anno tempo parola lingua città paese acqua libro domanda risposta sono hai della nel alla",
    "Portuguese": "o a os as um uma e é não eu tu ele ela nós você vocês com para em de que quem onde quando como porque qual posso pode meu minha seu bem mais muito também mas ou se ter ser estar fazer ir dizer ver hoje amanhã aqui lá casa homem mulher dia ano tempo palavra língua cidade país água livro pergunta resposta são tem está",
    "Dutch": "de het een en is niet ik jij hij zij wij jullie met voor in van dat wie wat waar wanneer hoe waarom welke kan kun mag mijn jouw zijn goed meer heel ook maar of als hebben worden doen gaan zeggen zien vandaag morgen hier daar huis man vrouw kind dag jaar tijd woord taal stad land water boek vraag antwoord naar deze geen veel",
    "Polish": "nie jest to się na w z do co jak kto gdzie kiedy dlaczego czy może mogę proszę dobrze bardzo też ale lub dom człowiek dzień rok czas słowo miasto kraj woda książka pytanie jestem masz mi moja twój",
    "Swedish": "och är inte jag du han hon vi ni de med för i av att vem vad var när hur varför kan får min din sin bra mer mycket också men eller om ha bli göra gå säga idag imorgon här där hus man kvinna barn dag år tid ord språk stad land vatten bok fråga svar og ikke jeg det",
    "Turkish": "ve bir bu şu ben sen o biz siz ne kim nerede nasıl neden için ile çok iyi daha değil var yok evet hayır ev adam kadın gün yıl zaman kelime dil şehir ülke su kitap soru cevap mı mi musun misin",
}  # fmt: skip
SMALL = {language: text.split() for language, text in SMALL.items()}
# Ranges of letters.
SCRIPTS = [(0x4E00, 0x9FA5), (0x4E00, 0x6FFF), (0x3041, 0x3096), (0x30A1, 0x30FA), (0xAC00, 0xD7A3), (0x0430, 0x044F), (0x0410, 0x044F), (0x0627, 0x064A), (0x05D0, 0x05EA), (0x0905, 0x0939), (0x03B1, 0x03C9), (0x0E01, 0x0E2E), (0x10D0, 0x10F0), (0x0561, 0x0587), (0x0985, 0x09B9), (0x0B85, 0x0BB9)]
ENDS = ["", "", "", "?", ".", "!", " ?"]


def sentence(draw):
    """A sentence of some language."""
    language = draw.any(list(SENTENCES)[:6] * 2 + list(SENTENCES))
    text = draw.one(SENTENCES[language])
    return draw.any([text, text, text.lower(), text.lower().rstrip("?.! "), text.rstrip("?.! "), text.upper()])


def small_words(draw):
    """Small words of a language in any order."""
    words = draw.some(SMALL[draw.any(list(SMALL)[:6] * 2 + list(SMALL))], draw.number(3, 10))
    text = " ".join(words)
    return draw.any([text, text[0].upper() + text[1:]]) + draw.any(ENDS)


def letters(draw):
    """Words of letters of another script."""
    low, high = draw.any(SCRIPTS)
    return " ".join("".join(chr(draw.number(low, high)) for _ in range(draw.number(1, 8))) for _ in range(draw.number(1, 5))) + draw.any(ENDS)


def joined(draw):
    """Two sentences."""
    return f"{sentence(draw)} {sentence(draw)}"


def episode(draw):
    """Any of them."""
    return ask("languages", draw.any([sentence] * 5 + [small_words] * 4 + [letters] * 2 + [joined])(draw), ENGLISH)
