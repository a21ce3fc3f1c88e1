"""The English words that hint at a category. Written for languages.signals, which says how to read the lines."""

from __future__ import annotations

ENGLISH = {
    "soul": r"""
2.5 mission|core values?|guiding principles?|reason for being|purpose in life|purpose (?:is|of)|(?:i|we) exist|
    exists? (?:to|for)|life['’]s work|moral compass|what matters most|above all(?: else)?|do no harm|who i am|
    my (?:calling|identity|values|creed|vocation|purpose|north star)|meaning of life
2 non-negotiable|i believe (?:in|that)|we believe|at heart|deep down|stands? for|be remembered|my legacy|
    principles?|reason i (?:live|get up|do)|soul|conscience|our vision|vision is|you are \w+, (?:an?|the)|my faith|
    dedicated (?:my|his|her) life|worth living|sacred|ethos|everything i (?:do|build|make)|we are in (?:this|
    the) business (?:of|to)|(?:i|we) (?:live|stand) (?:for|by)|(?:my|our) (?:duty|oath|promise|soul|heart)|on (?:my|
    the user['’]s|their) side|owe (?:it )?to|matters? (?:most|more) to (?:me|us)|serves? (?:one|the|a|its|his|
    her) (?:person|user|people|community|family)|to be (?:kind|useful|honest|fair|free|good)|loyal to|
    i care (?:about|that)|(?:exists?|made|built|founded) to (?:make|help|serve|protect|keep)|(?:human|
    highest) (?:virtue|value|good)|virtues?|(?:will|would) not (?:negotiate|give up|compromise)|
    most important (?:thing|value|virtue|rule)|as an agent
1.5 integrity|honesty|dignity|compassion|freedom|truth|justice|values|never (?:trade|lie|mislead|deceive|betray|
    compromise|harm|manipulate)|comes? (?:before|first)|matters more than|\w+ first, \w+ second|better (?:world|
    shape|place)|more important than|vision|in service of|loyalty to|devoted to
1.2 kindness|fairness|fair|courage|future generations|duty|secrets?|compassionate|humble|meaning(?:ful)?|never bend|
    rather be|planet|dignified
0.8 believe|dream|purpose|life|humanity|world|god
""",
    "character": r"""
2.5 personality|temperament|communication style|tone of voice|tone|demeanou?r|persona|introvert(?:ed)?|
    extrovert(?:ed)?|(?:kind|sort|type) of (?:person|guy|woman|man)|by nature|character trait|sense of humou?r|
    bedside manner|(?:comes?|came) across
2 shy|blunt|stubborn|sarcastic|optimist(?:ic)?|pessimist(?:ic)?|impatient|meticulous|temper|short-tempered|grudges?|
    playful|perfectionist|easy-?going|laid-back|outgoing|reserved|talkative|humble|modest|arrogant|moody|cheerful|
    cynical|empathetic|assertive|witty|dry humou?r|humorous|soft-spoken|warm-hearted|kind-hearted|grumpy|
    thick-skinned|ambitious|hot-headed|level-headed|overthinks?|introspective|good-natured|bossy|charming|
    diplomatic|timid|cautious by|jokes|means well|(?:is|am|are|be|being|gets?|very|quite|rather|a bit|so|too|
    extremely|incredibly|slightly|really|and|but) (?:organi[sz]ed|tidy|messy|lazy|brave|reckless|careful|kind|rude|
    harsh|tactful|tactless|dramatic|gullible|suspicious|jealous|vain|fussy|thoughtful|considerate|selfish|stoic|
    sentimental|competitive|conscientious|disciplined|spontaneous|indecisive|decisive|restless|absent-minded|
    forgetful|clumsy|naive|passionate|intense|straightforward|frank|candid|chatty|formal|casual|upbeat|deadpan|
    abrasive|defensive|pedantic|pedantry|bubbly|cautious|strict|lenient|aloof|sensitive|patient|quiet|warm|direct|
    friendly|curious|loyal|calm|generous|honest|funny|serious|anxious|cheeky|dreamy|rational|emotional|hot-tempered)
1.6 unreliable|reliable|scepti(?:cal|c)|skeptical|loud|rational|strict with|never sound|(?:is|be|sound) warm|
    completely \w+|(?:a|an) (?:anxious|nervous|careful|quiet|happy|sad|angry|calm|patient|kind|difficult|gentle|shy|
    serious|funny|curious|honest|proud) \w+|demanding|thorough|hesitant|hesitates|dependable|trustworthy|tactful|
    tense|relaxed|chill|picky about|sharp tongue|dry|terse|enthusiastic|energetic|dreamer|worrier|control freak|
    team player|loner|night-?mare to
1.4 laughs|forgives?|teasing|light-hearted|(?:to the point|out) of (?:pedantry|politeness)|easily|quick(?:ly)? to|
    slow to|holds? grudges|sulks?|blushes|brags?|complains a lot|worries|like an old friend|well-mannered|attitude|
    mood|abrasive|pedantry|defensive|sounds? (?:like|cold|harsh|warm)
1.2 curious|loyal|calm(?:ly)?|patient|quiet|warm|direct|friendly|sensitive|gentle|polite|generous|funny|serious|
    anxious|nervous|sincere|humou?r|confident|cold|proud|lectures|strangers|small talk|when (?:stressed|angry|
    nervous|upset)|apologi[sz]es|speaks|tends to|voice|style|person|angry|jealous|lazy
""",
    "people": r"""
2.2 (?:my|his|her|their|our|your|['’]s|a|an|the|new) (?:\w+ )?<kin>|\w+-in-law|(?:uncle|aunt|auntie|grandma|grandpa|
    granny) [a-z]+|got (?:married|divorced|engaged)|married to|engaged to|reports to|contact (?:person|for)|
    point of contact|was born in|maiden name|years old
1.6 (?:mr|mrs|ms|dr|prof)\.? \w+|married|divorced|widow(?:ed|er)?|pregnant|grew up in|is called|named|goes by|
    works (?:at|for|in|as|with)|lives (?:in|at|with|near)|joined (?:from|the|us)|head of|(?:i )?met \w+ (?:at|in|on|
    through)|used to be my|moved (?:in with|to)|teaches|phone|surname|nickname|introduced me|old friend|siblings?|
    relatives?|acquaintance|retired|studies at|comes from|originally from|born|(?:a )?(?:woman|man|guy|
    lady) (?:named|called|from|who)|call (?:him|her) on|turned (?:\d+|two|three|four|five|six|seven|eight|nine|ten)|
    shared an? (?:office|flat|room|house)|(?:plumber|electrician|barber|carpenter|gardener|mechanic|cleaner|baker|
    priest|nurse|therapist|professor|surgeon) (?:who|is|on|at)|went to (?:school|university|college) with|is from|
    son of|daughter of|moved to|design lead|lead (?:designer|developer|engineer)|(?:he|she) (?:sits|lives|works|
    teaches|runs|studies) (?:in|at|for|on|a)|runs a|is the new \w+|in charge of hr|new hire|godson|brother and|
    sisters?|first name|twins|pronouns?
0.9 <kin>|friends?|family|colleagues?|he|she|runs the|team lead|ceo|cto|engineer|nurse|designer|contact|client|
    email|invite|joined|spoken|who
""",
    "project": r"""
2.2 repo(?:sitory)?s?|monorepo|codebase|staging|deployment|deployed|deploys|deploy(?:s|ed)? (?:to|with|on|via|from)|
    milestones?|code ?name|backlog|roadmap|private beta|project \w+(?: is|:)|ci|ci/cd|github|gitlab|the project|
    this project|main branch|preview urls?|work in progress|feature branch|release branch|hotfix(?:es)?|kanban|jira|
    linear
1.8 (?:is|are) (?:done|finished|half done|merged|shipped)|still (?:fails|missing|open|broken|to do|pending|needs)|
    terraform|testflight|remodel(?:ling)?|s3|in \w+/|\w+/ (?:folder|directory)|v\d+(?:\.\d+)+|built by|game jam|
    hackathon|prototype|proof of concept|merged|unfinished|wip|uses? (?:react|vue|django|rails|godot|unity|fastapi|
    next\.js|svelte|flask|spring)|submodule|changelog|test coverage|open issues?|delivered|spreadsheet|manuscript|
    exhibition
1.5 project|production|prod|branch|beta|mvp|halfway|in progress|(?:current|project|renovation|build)? ?(?:status|
    state)(?: of the \w+)?:?|still open|phase (?:\d|one|two|three)|stage \d|hosted (?:on|at|by)|runs on|listens on|
    written in|built with|backend|frontend|monitoring|pipeline|kubernetes|heroku|netlify|vercel|hetzner|aws|fly\.io|
    docker|migration|maintained by|owned by|contract|scope|drafted|thesis|renovation|drafts?|pull requests?|
    issue tracker|workspace|module|microservices?|readme|docs live|lives in (?:git|github|the|services|apps|
    packages)|apps?/\w+|packages/\w+|src/\w+
1.4 works,|is next|not yet (?:done|supported|started)|no offline support|tests live|fixtures|tags?|tagged|
    releases are|second phase|first phase|budget|droplet|read the docs|we host|docs|folder|directory|inventory|
    login|scanning|roll-?out|(?:is|are) tracked in|tests/\w*|written for python|\d+% (?:done|complete)
0.8 app|service|api|website|client|build|release|testers|test(?:ing)? environment|server|finished|ordered|tasks|
    platform team|version|podcast|episodes?|chapters?|so far|remaining|blocked|sprint|importer|exporter|parser|
    fixes|feature|bugs?|infra|bucket
""",
    "date": r"""
2.2 ~deadline|due (?:on|by|date|in|at)?|is due|appointment|scheduled (?:for|on|at)|rescheduled|postponed|
    anniversary|birthday|expires?|expiry|takes place|save the date|(?:moved|shifted|pushed) (?:back )?to (?:<day>|
    <month>|next|\d)|every (?:second|other|third|first|last) (?:<day>|week)|(?:lease|contract|term|semester|visa|
    holidays?|freeze|sale|course|season) (?:starts?|ends?|begins?|runs)|lasts until|valid until|kick-?off (?:is|on|
    at)
1.6 \d{1,2}(?:st|nd|rd|th)? (?:of )?<month>|<month> \d{1,2}(?:st|nd|rd|th)?|\d{4}-\d\d-\d\d|
    <day>,? (?:at )?\d{1,2}(?:[:.]\d\d)?|(?:starts?|ends?|begins?|leaves|departs|arrives|opens|closes|meets) (?:on|
    at|next|every|in|from)|from \w+ to \w+ <month>|first week of|q[1-4]|calendar|schedule|agenda|holidays?|wedding|
    flight|boarding|departure|conference|exam|ceremony|concert|festival|webinar|until the \d+|on the \d{1,2}(?:st|
    nd|rd|th)|\d{1,2} (?:am|pm)|at noon|departs|semester|runs? out (?:in|on)|falls on|fortnight|by the \d+(?:st|nd|
    rd|th)?|in by|(?:mon|tue|wed|thu|fri|sat|sun) \d+|new year|easter|christmas|ramadan|diwali|recital|match|
    kick-off|interview|board meeting|parents['’] evening|\d+ (?:minutes|hours) long|from (?:two|three|nine|ten|
    one) to|(?:one|two|three|nine|ten) to (?:two|three|four|five|six|eleven|noon)|due|begins|closes|check-?in|
    check-?out
1.4 on leave|(?:parents['’]|parent) evening|has been moved|vet|\d+ to \d+ \w+|(?:first|second|third|last) of \w+|
    renewal|is on \w+ \d+|is on \d+
0.9 \d{1,2}:\d\d|<day>|next (?:<day>|week|month|year)|<month>|meeting|event|cet|utc|gmt|tomorrow|noon|this year|
    session|o['’]clock|at (?:seven|eight|nine|ten|six|five|four|three)|until
""",
    "knowledge": r"""
2 by default|refers to|is defined as|means that|stands for|consists of|is (?:an? )?(?:kind|type|form|subset|
    instance) of|thread-safe|at the same time|algorithm|formula|theorem|time complexity|o\((?:n|1|log)|
    per (?:degree|second|cent|byte|litre|square)|percent|ships with|according to (?:the )?(?:docs|rfc|spec|manual)|
    rfc \d+|syntax|inherited from|is evaluated|boils at|melts at|is equivalent to|status code|
    spec(?:ification)? says|was invented|was founded|is known as|is called when|works by|is caused by|in general|
    http \d\d\d|in (?:python|rust|go|java|javascript|typescript|c\+\+|sql|linux|postgres|bash|git|react|css|html|
    chemistry|physics|latin|german|chinese|english|japanese|french)
1.4 turns? (?:blue|red|green|into|black)|soluble|acid|soil|encrypted|signed|payload|flag|makes? \w+ (?:treat|return|
    print|run|use)|most \w+s (?:are|turn|grow|need|live|have)|whole (?:file|table)|treats?|invented|discovered|
    evaluates?|compiles?|overrides?|inherits|matches|ignores|accepts|belongs to|grows?|melts?|freezes|boils|orbits?|
    weighs|vitamin|protein|enzyme|atoms?|asynchronous|immutable|idempotent|deterministic|regex|socket|unicode|utf-8|
    packets?|browser|file system|inode|garbage collect(?:or|ion)|hash
1.2 means|contains?|returns?|requires?|supports?|allows|causes|stores|produces|converts|implements|runs? in|raises|
    throws|is used (?:for|to)|are used|defined|protocol|compiler|kernel|index(?:es)?|because|without|function|
    variable|table|column|memory|thread|process|byte|bytes|cache|query|queries|timeout|constant|parameter|
    arguments?|enough|roughly|approximately|degrees?|temperature|molecules?|cells?|species|century|named after|
    capital of|located in|faster than|slower than|hour behind|hours? (?:ahead|behind)|once|requests?|resource|
    when it|so that|only when|automatically|therefore|fails|merges?|must be|segments?|in the background|doubles|
    within \w+ hours|files? (?:in|as)|~/\w+|divided|empire|river|mountain|capital|population|is measured in|weights|
    layer|grid|pixels?|segment|compressed|formats?|bits?|founded in|published in|built in \d+
""",
    "feedback": r"""
2.4 feedback|suggestions?|suggest(?:s|ed)?|would (?:help|be (?:nice|great|better|good|helpful)) (?:if|to)|
    could be (?:improved|better|clearer|shorter|more)|complain(?:s|ed|ts?|ing)?|(?:great|good|nice|excellent|
    amazing|well) (?:job|work|done)|reviewers?|feature request|room for improvement|you keep|praised|criticis|
    criticized|criticised|thumbs up|not helpful|loved (?:it|the)|wish (?:it|there|you)|hard to (?:find|read|follow|
    understand)|too (?:long|short|vague|verbose|nitpicky|slow|fast|formal|technical|small|big|thin|complicated|
    wordy|loud|generic|dense|shallow|many|much|harsh)
1.8 would love|thank you|thanks|lovely|painful|ugly|useless|perfect|beautiful|found (?:it|the|that|this|\w+ing|
    signing up)|can['’]t (?:read|find|see|tell)|could(?:n['’]t| not) (?:find|read|tell|see|figure)|you (?:answered|
    missed|forgot|ignored|misunderstood|explained|skipped|repeated|assumed|gave|wrote|got)|your \w+ (?:was|were|is|
    are|of)|testers|works (?:great|well)|difficult to|easy to (?:follow|read|miss)|didn['’]t ask|did not ask|
    off-topic|wall of text|nicely|impressive|disappoint(?:ed|ing)|overwhelming|crashes when|needs? (?:more|fewer|
    less|better|clearer)|too \w+|please (?:stop|do not|don['’]t)|stop \w+ing|thought (?:the|it|my|your)|found the|
    (?:users?|customers?|people|readers?|testers?) (?:asked|wanted|liked|complained|struggled|got lost)|convincing|
    but the \w+|explain why|slow to|looks (?:good|great|bad|dated|odd)|fast, but|missing from
1.6 confusing|unclear|unhelpful|misleading|clunky|annoying|improve(?:d|ments?)?|clickbait|excellent|brilliant|
    awkward|clearer|shorter|customers? (?:want|wants|asked|say|says)|users? (?:want|wants|asked|say|says|find|finds|
    report|reported)|asked for|(?:manager|boss|client|reviewer|editor|teacher|\w+) said (?:my|the|it|that)|
    please (?:make|add|fix|stop|be|keep|try|include|remove|change|explain)|your (?:last|answer|answers|code|summary|
    reply|replies|tests?|explanation|draft|tone|report)|the (?:last|previous) (?:one|answer|reply|draft)|rushed|
    went well|next time|focus on|should (?:show|include|explain|say|have)|error message|does not say|
    doesn['’]t (?:say|check|work|explain)|stop (?:using|adding|saying)|well written|come before|rating|stars|
    usability|survey
0.8 please|but|better|helpful|nice|great|design|button|page|you
""",
    "preferences": r"""
2.6 prefer(?:s|red)?|(?:my|her|his|the user['’]s|user) preference|favou?rites?|can['’]?t stand|cannot stand|
    would rather|['’]d rather|rather than|(?:not )?fond of|not a fan of|big fan of|not keen on|sick of|allergic to|
    (?:i|user|users|she|he|we|they|who|and|[a-z]+) (?:really |absolutely |also |just )*(?:hates?|loves?|dislikes?|
    enjoys?|detests?|likes? (?:her|his|my|their|it|to|the))|(?:don['’]t|doesn['’]t|do not|
    does not) (?:really )?(?:like|want|enjoy|care for)|vegetarian|vegan|dark (?:mode|theme)|light (?:mode|theme)
2 would sooner|sucker for|weakness for|soft spot for|partial to|obsessed with|my go-to|can['’]t live without|
    addicted to|(?:drinks|eats|wears|reads|buys|uses|watches) only|only (?:drinks|eats|wears|reads|buys|uses|drink|
    eat|use|wear)|(?:^|\n)(?:don['’]t|do not) (?:use|put|add|send|call|write|show|give|ask|include)|for me, \w+|
    in my (?:code|documents|notes|files|emails|javascript|python)|no (?:nuts|sugar|milk|meat|emojis?|phone calls|
    small talk|meetings)|aisle seat|window seat|(?:is|am|are|i['’]m) (?:really )?into|taste in|
    as few \w+ as possible|by choice|bothers me|drives me (?:mad|crazy)|not my thing
1.8 (?:i|she|he|user|[a-z]+) (?:does not|doesn['’]t|do not|don['’]t) like|being called|(?:answer|reply to|write to|
    speak to) me in|unless i|(?:is|are) fine(?:,| but)|like my|takes? (?:it|tea|coffee) (?:with|without|black)|
    ideally|whenever possible|at most|i (?:only|just) want|not for me
1.6 (?:i|user|she|he|they|[a-z]+) (?:really |also )?(?:likes?|loves)|(?:user|she|he) wants|(?:^|\n)(?:always|never|
    avoid|use|no|keep|give me|call me|write|address me|show me|reply|answer|format|send me|skip)|for me|to (?:her|
    me|him) instead|no emojis?|, please|please (?:use|always|never|avoid|write|call)|bullet points|
    american spelling|metric|24-hour|font|takes (?:her|his) (?:coffee|tea)|in my projects|wants answers|everywhere|
    if there is a choice|at all costs|picky|can['’]t eat|doesn['’]t eat|don['’]t eat|favors|favours
0.7 likes?|loves?|hates?|always|no|instead of|coffee|tea|spelling|style|emoji
""",
    "decisions": r"""
2.6 ~decided|decision|decides|going with|(?:we|i) (?:go|went) (?:with|for)|settled (?:on|for)|agreed (?:to|on|that|
    upon)|opted (?:for|to)|made up my mind|ruled out|final call|it was resolved|resolved (?:to|that)|adr[- ]?\d*|
    signed off|voted (?:to|for|against)|final(?:ly)? (?:choice|answer|verdict)|concluded (?:to|that we)|committed to
2 ~chose|chosen|choosing|picked|approved|rejected|selected|it is\.?$|let['’]s (?:stick|go|use|keep|not)|
    we will (?:use|go|not|keep|stick|move|adopt)|we won['’]t|won['’]t (?:build|use|support|do)|switch(?:ing|
    ed) (?:from|to|over)|drop(?:ping|ped)? support|sticking (?:with|to)|in the end|abandon(?:ed|ing)?|adopt(?:ed|
    ing)?|option (?:a|b|c|d|one|two|1|2|3)|instead of|greenlit|vetoed|turned down|accepted the|cancelled the|
    as of now we|from now on we
2 we(?:['’]re| are) (?:keeping|dropping|moving|switching|using|not|replacing|cancelling|canceling|staying|sticking|
    going|closing|selling|buying)|turned? (?:the |it |them |that )?(?:\w+ ){0,4}down|no more|gets? (?:replaced|
    dropped|removed|cancelled)|will be (?:replaced|dropped|removed|kept|built|written)|deprecated?|
    starting with version|i(?:['’]m| am) (?:leaving|taking|quitting|accepting|not going)|we['’]ll (?:use|go|keep|
    drop|move)|said (?:yes|no) to|vote[ds]?|scrapped|postpone the|compromise|unanimous(?:ly)?|not going to|
    from now on|the team will|(?:not|never) going to|decided with|(?:she|he|they|we|board|team|committee|
    [a-z]+) signed|is going to be|settled|plan is to|we are (?:done|through) with|over \w+ because|call it|
    made the call|(?:pick|chose|choose|selected) \w+ over
0.9 after (?:comparing|discussing|weighing|long)|because|the team|the board|for now|plan|final|no longer|keep|
    leaving|replace|board|in favou?r of|trade-?off
""",
    "lessons": r"""
2.6 ~lessons?|hard way|gotchas?|in hindsight|post-?mortem|root cause|pitfalls?|never again|takeaways?|
    what i (?:took away|learn(?:ed|t))|(?:we|i)(?:['’]ve)? learn(?:ed|t)(?: that|:)?|learn(?:ed|t) (?:that|to|from|
    not)|taught (?:us|me)|should(?:n['’]t| not)? have|if only|note to self|mistakes?|watch out|beware|retrospective|
    got (?:burned|bitten)|bitten by|turns out|turned out|backfired|won['’]t (?:make|do) that again
2 would have (?:saved|been|avoided|prevented|helped)|found out|wish (?:i|we) had|the day before|because (?:i|we|
    nobody|someone) (?:forgot|didn['’]t|updated|had|never|ignored|assumed|skipped)|(?:weeks?|days?|hours?) (?:lost|
    wasted)|lost (?:\w+ ){0,2}(?:weeks?|days?|hours?)|typo|nobody (?:checked|noticed|owned|read)|ended up|
    overlooked|underestimated|overestimated|misread|i assumed|we assumed|should be (?:checked|tested) first|crashed|
    took (?:a|two|three|\w+) (?:month|weeks|days|hours)|first would|saved us|fine print|too (?:early|soon)|blew up|
    never trust|bit (?:us|me)|rule of thumb|keep \w+ small
1.8 (?:was|is) a mistake|broke the|broke (?:it|everything|production)|check (?:that|who|which|what) (?:first|\w+)|
    check that first|lost an hour|not restored|before changing|because the \w+ was|always \w+ first|
    never \w+ a \w+ that|fooled|misled|should not have|wasn['’]t worth|i underestimated|not worth it|the fix:|cause:
1.6 next time|don['’]t trust|do not trust|never (?:run|trust|assume|deploy|estimate|book|use|skip|merge|push|edit|
    rely|leave|forget to)|always (?:check|back up|test|verify|read|double-check)|cost (?:us|me)|outage|incident|
    failure|failed|ruined|regret|trap|careful|wasted|blamed|the hard|painful|broke|make sure (?:to|you) (?:check|
    test)|avoid|be careful|took (?:us|me) (?:hours|days|weeks)|too late|wrongly|silently|surprisingly|lost (?:a|two|
    three|half)
0.7 backup|forgot|wrong|again|too much|cannot rely
""",
    "habits": r"""
2.3 (?:every|each) (?:single )?(?:other )?(?:second )?<time>|habits?|routines?|usually|typically|on (?:weekdays|
    weekends|<day>s)|(?:most|some) (?:nights|days|mornings|evenings|weekends|<day>s)|(?:once|twice|three times|
    ten times|several times) (?:a|per) (?:day|week|month)|goes to bed|gets? up (?:at|early|before)|wakes? up (?:at|
    early|around)|out of habit|as a rule|ritual|(?:mornings|evenings) (?:i|he|she|we)|before (?:breakfast|bed|work)
1.8 (?:on )?<day>(?:s| nights| mornings| evenings| afternoons)|first thing|whenever|(?:at|by) (?:six|seven|eight|
    nine|ten|eleven)(?:,| \w+ at)|(?:i|he|she) (?:read|reads|check|checks|drink|drinks|take|takes|start|starts|walk|
    walks|write|writes) (?:\w+ ){0,4}(?:first|daily|before|after|every|each)|without fail|like clockwork|for years|
    since childhood|each time|year after year|til+ (?:ten|eleven|midnight)|night owl|early bird|naps?|(?:starts?|
    begins?|ends?) (?:each|every|the|my|his|her) (?:\w+ ){0,2}(?:by|with)|(?:after|before) (?:running|work|lunch|
    dinner|breakfast|eating|reading|writing|coding|swimming|the gym|school)|only between|between \w+ and \w+|
    we have \w+ every|(?:i|he|she|we|they) (?:stretch|stretches|bake|bakes|meditates?|journals?|jogs?|naps?|swims?|
    cycles?|cleans?) (?:\w+ )*|at the (?:saturday|sunday|weekend)|every
1.6 (?:i|he|she|we|they|user|[a-z]+) (?:always|never|often|rarely|regularly|seldom|normally)|tends? to|daily|weekly|
    nightly|regularly|often|(?:after|before) (?:each|every|lunch|dinner|work|meetings?)|with breakfast|
    when(?:ever)? (?:i['’]m|he|she)|in summer|in winter|half an hour|for \w+ minutes|keeps (?:a|checking)|
    checks (?:his|her|my|mail|email)|always (?:writes|starts|takes|checks|eats|does|has|brings|asks|reads)|
    never (?:starts|eats|leaves|works|sleeps|drinks)
0.7 morning|evening|night|breakfast|weekends?|always|run|walks?|coffee|tea|sleep|bed|around (?:ten|eleven|seven|six|
    eight)|<day>
""",
    "skills": r"""
2.5 fluent(?:ly)?|proficient|good at|great at|bad at|terrible at|skilled|skills?|expert(?:ise)?|know(?:s)? how to|
    mastered|masters|certified|certification|certificate|(?:years|year|decade) of experience|experienced (?:in|
    with)|experience (?:with|in)|able to|capable of|capabilit(?:y|ies)|inside out|in (?:my|his|her) sleep|
    no clue about|native speaker|self-taught|specialis|speciali[sz](?:es|ed|ing) in|talent(?:ed)?|adept|qualified|
    black belt|driving licence|driver['’]s license|can (?:speak|read|write|play|cook|code|sew|fix|solder|drive|sail|
    program|draw|sing|ski|swim|weld|repair|translate|build|type|bake)
2.2 knack for|taught (?:my|him|her|them)selves?|taught (?:my|him|her)self|decent at|gifted|handy with|good with|
    (?:reads|writes|speaks|understands|translates|knows) (?:arabic|french|german|spanish|italian|polish|latin|greek|
    chinese|mandarin|japanese|korean|russian|portuguese|dutch|turkish|hindi|\w+ish)|(?:bot|agent|assistant|script|
    tool) (?:can|parses|recogni[sz]es|handles|translates|reads|writes|converts|summari[sz]es)|in \w+ languages|
    learned to (?:read|write|play|cook|code|sew|drive|swim|weld|bake|bind)|no idea how to|does not write it|
    hopeless at|excellent at|a natural at|dab hand|qualification|diploma|trained as|juggle
1.8 (?:is )?experienced|new to|knows? (?:\w+ ){1,4}well|though my \w+ are|disaster|shell commands|(?:i|he|she|
    [a-z]+) can (?!be)\w+|weak in|out of practice|hands-on|(?:a )?novice|black-belt|musician|speaks \w+ and \w+|
    not able|unable to
1.6 (?:^|\n|[.;] )can \w+|i can|he can|she can|user can|agent can|cannot|licen[cs]e|plays the|speaks|strongest|
    beginner|intermediate|advanced|trained|rusty|competent|ability|amateur|by hand|level|knows|understands|
    well enough|apprenticeship|degree in|studied|holds a|familiar with|comfortable with|conversational|hsk|
    years? (?:with|in)|has run|weak at|strong in|b2|c1
0.7 can|experience|years|a little|language|english|german|french|spanish|polish|chinese|python|sql|go|rust|css|
    teach|explaining|tools?
""",
    "reminders": r"""
3.5 ~remind(?:s|er|ers)?(?: me| us| him| her)?|don['’]t (?:let me )?forget|do not forget|(?:must|
    should) ?n[o'’]t forget|ping me|nudge me|wake me|set (?:an? )?(?:alarm|timer|reminder)|notify me|alert me|
    tell me (?:at|when|in|on|tomorrow|tonight|before)|ask me (?:again|in|on|whether|if|tomorrow|about)|
    call me (?:at|in)|in \w+ (?:minutes|hours|days|weeks),? (?:remind|ask|tell|ping|check)
2.4 ~remember to|follow up|to-?dos?|make sure (?:i|we)|(?:i|we) (?:have|need) to \w+|(?:i |we |^|\n)(?:need|have|
    has|must) (?:to )?(?:pick|buy|call|send|pay|book|renew|email|write|order|return|cancel|ask|check|submit|collect|
    fetch|bring|reply|schedule)|check back|get back to|let me know (?:when|at)|before the weekend|be sure to|
    call back|deadline reminder|snooze
2.4 (?:^|\n)(?:get|bring|buy|check|call|pick up|take|pay|return|send|water|feed|order|fetch|collect|book|email|text|
    reply|print|grab|drop off|renew|cancel|charge|turn off|turn on|switch off|lock|confirm|submit|mail|pack|wash|
    empty|put)|on the way (?:home|back|to)|owe \w+ a (?:call|reply|mail|visit)|ask me (?:about|how)|please ask me|
    this afternoon|in (?:\d+|ten|twenty|thirty) (?:minutes|min|hours)
1.8 remember|by (?:saturday|sunday|monday|tuesday|wednesday|thursday|friday)|tomorrow (?:morning|afternoon|evening|
    at)|this evening|before (?:it closes|noon|lunch|six|five)
0.9 ~tonight|tomorrow|by (?:the \d+|<day>|tomorrow|tonight)|before (?:<day>|boarding|leaving|the)|when i (?:leave|
    get)|in (?:two|three|\d+|an) (?:minutes|hours?|days|weeks)|pick up|next week|forget|need to|at noon|have to|
    alarm
""",
}
