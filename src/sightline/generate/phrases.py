"""Sentence patterns of posts, by language.

Slots: ``{t}`` and ``{u}`` two words of the topic, ``{p}`` the place, ``{w}`` any word of the language by its
frequency, ``{n}`` a small number, ``{tag}`` and ``{place_tag}`` hashtags, ``{who}`` a mention. ``{more}`` stands for
one to six more words and is written out into one pattern per length.
"""

from __future__ import annotations

# About a topic.
ABOUT: dict[str, tuple[str, ...]] = {
    "en": (
        "{t} in {p} right now, {u} everywhere. {more} {tag}",
        "anyone else seeing the {t} near {p}? {more}",
        "Just got back from {p}: {more}, {t} and {u}",
        "all about {t} today... {more} {tag} {place_tag}",
        "{n} minutes of {t} and still no {u} 😩 {more} {tag}",
        "{who} did you see the {t} at {p}? {more} {u}",
        "Update from {p}: {t}, {u}, {more}. More soon {tag}",
        "{t} again in {p}! {more} {place_tag}",
        "not gonna lie, {more} but the {t} and the {u} here are something else",
    ),
    "es": (
        "{t} en {p} ahora mismo, {u} por todas partes. {more} {tag}",
        "¿alguien más vio {t} cerca de {p}? {more}",
        "Qué {t} hoy en {p}, {more} {tag} {place_tag}",
        "llevo {n} minutos con {t} y nada de {u} 😅 {more}",
        "{who} ¿viste {t} en {p}? {more} {u}",
        "la verdad {more}, pero {t} y {u} en {p} así está hoy {tag}",
    ),
    "pt": (
        "{t} em {p} agora, {u} por todo lado. {more} {tag}",
        "alguém mais viu {t} perto de {p}? {more}",
        "gente, {more}, {t} hoje em {p} {tag} {place_tag}",
        "{n} minutos de {t} e nada de {u} kkkk {more}",
        "{who} você viu {t} em {p}? {more} {u}",
        "só se fala de {t} em {p}! {more} {tag}",
    ),
    "fr": (
        "{t} à {p} en ce moment, {u} partout. {more} {tag}",
        "quelqu'un d'autre a vu {t} vers {p} ? {more}",
        "Encore {t} aujourd'hui à {p}... {more} {tag} {place_tag}",
        "{n} minutes de {t} et toujours pas de {u} 🙄 {more}",
        "{who} tu as vu {t} à {p} ? {more} {u}",
        "franchement {more}, {t} et {u} à {p}, voilà {tag}",
    ),
    "de": (
        "{t} in {p} gerade, überall {u}. {more} {tag}",
        "Hat noch jemand {t} bei {p} gesehen? {more}",
        "Schon wieder {t} in {p}, {more} {tag} {place_tag}",
        "seit {n} Minuten {t} und kein {u} in Sicht 🙃 {more}",
        "{who} hast du {t} in {p} gesehen? {more} {u}",
        "ehrlich gesagt {more}, aber {t} und {u} sind hier das Thema {tag}",
    ),
    "it": (
        "{t} a {p} proprio adesso, {u} ovunque. {more} {tag}",
        "qualcun altro ha visto {t} vicino a {p}? {more}",
        "Ancora {t} oggi a {p}, {more} {tag} {place_tag}",
        "{n} minuti di {t} e niente {u} 😂 {more}",
        "{who} hai visto {t} a {p}? {more} {u}",
    ),
    "id": (
        "{t} di {p} sekarang, {u} di mana-mana. {more} {tag}",
        "ada yang lihat {t} dekat {p}? {more}",
        "Duh {t} lagi hari ini di {p}, {more} {tag} {place_tag}",
        "udah {n} menit {t} tapi belum ada {u} 😭 {more}",
        "{who} liat {t} di {p} gak? {more} {u}",
    ),
    "tr": (
        "{p} şu an {t}, her yerde {u}. {more} {tag}",
        "{p} yakınında {t} gören var mı? {more}",
        "Bugün yine {t}, {more} {tag} {place_tag}",
        "{n} dakikadır {t} ve hâlâ {u} yok 😤 {more}",
        "{who} {p} taraflarında {t} gördün mü? {more} {u}",
    ),
    "ru": (
        "{p}: сейчас {t}, везде {u}. {more} {tag}",
        "кто-нибудь ещё видел {t} рядом с {p}? {more}",
        "Опять {t} сегодня, {more} {tag} {place_tag}",
        "уже {n} минут {t} и никакой {u} 😅 {more}",
        "{who} видел {t}? {p}, {more} {u}",
    ),
    "ja": (
        "{p}で{t}、{u}がすごい。{more} {tag}",
        "{p}の{t}やばい…{more} {tag} {place_tag}",
        "今{p}だけど{t}と{u}。{more}",
        "{n}分待ったけど{t}も{u}もない(笑){more} {tag}",
        "{who} {p}の{t}見た?{more}",
    ),
}

# About nothing in particular.
CHATTER: dict[str, tuple[str, ...]] = {
    "en": (
        "good morning {p} ☀️ {more}",
        "{more}, {more} lol",
        "I think {more}. {more}",
        "{who} {more} thanks! {place_tag}",
        "{p} mood: {more}, {more} 🎧",
    ),
    "es": ("buenos días {p} ☀️ {more}", "{more}, {more} jajaja", "creo que {more}. {more}", "{who} {more} gracias!"),
    "pt": ("bom dia {p} ☀️ {more}", "{more}, {more} kkkk", "acho que {more}. {more}", "{who} {more} obrigado!"),
    "fr": ("bonjour {p} ☀️ {more}", "{more}, {more} mdr", "je crois que {more}. {more}", "{who} {more} merci !"),
    "de": ("Guten Morgen {p} ☀️ {more}", "{more}, {more} haha", "ich glaube {more}. {more}", "{who} {more} danke!"),
    "it": ("buongiorno {p} ☀️ {more}", "{more}, {more} ahah", "penso che {more}. {more}", "{who} {more} grazie!"),
    "id": ("selamat pagi {p} ☀️ {more}", "{more}, {more} wkwk", "menurutku {more}. {more}", "{who} {more} makasih!"),
    "tr": ("günaydın {p} ☀️ {more}", "{more}, {more} ya", "bence {more}. {more}", "{who} {more} teşekkürler!"),
    "ru": ("доброе утро, {p} ☀️ {more}", "{more}, {more} ахаха", "думаю, {more}. {more}", "{who} {more} спасибо!"),
    "ja": ("{p}おはよう☀️{more}", "{more}、{more}笑", "{more}と思う。{more}", "{who} {more}ありがとう!"),
}

LANGUAGES = tuple(ABOUT)

# Languages whose words are written without a space between them.
UNSPACED = frozenset({"ja"})
