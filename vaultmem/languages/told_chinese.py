"""Chinese sentences in the first person as statements about the user: 我住在上海 is 用户住在上海. As with
languages.told_english, a closed list of what lasts."""

from __future__ import annotations

import re

from vaultmem.languages.sentences import Sentence

_CUTS = re.compile(
    r"\s*[，,；;]\s*|\s+(?=我)|(?:但是?|不过|而且|因为|所以)(?=我|现在|以前)|(?<=[\u4e00-\u9fff])(?=(?:但|可)?我(?:现在|"
    r"以前))"
)
_LEAD = re.compile(
    r"(?:你好|您好|嗨|对了|另外|其实|顺便(?:说|提)一?[下句]|还有|而且|但是?|不过|因为|所以|嗯|哦|好的?|谢谢你?|那么?|话说|"
    r"补充一下)+[，,！!：:\s]*"
)
_DOUBT = re.compile(
    r"[?？]|[吗呢吧](?:$|[，。])|什么|怎么|如何|为何|哪|几(?=[个点岁号])|谁|多少|能否|是否|是不是|有没有|要不要|会不会|该不该|如果|要是|假如|可能|"
    r"也许|或许|大概|好像|似乎|觉得|认为|以为|感觉|猜|怀疑|想(?!家|念)|希望(?!被)|应该|该换|请(?!假)|帮|给我|让我|告诉|你|您|这(?!几年|些年|个月|"
    r"周)|那(?!边|时)|它|他|她|上面|下面|以下|例如|比如|问题|方案|的话|…|\.\.\."
)
_ASKS = re.compile(
    r"(?:请|帮|给|推荐|能|可以|有没有|有什么|怎么|什么|哪|告诉|该|麻烦|想问|想知道|送|要不要|那)"
)
_REPORTED = re.compile(r"[说问]我|(?<!会)(?<!能)(?<!听)说(?:过|我|[，：:])|告诉我|据说|听说")
_CONDITION = re.compile(r"如果|要是|假如|的话|除非|万一")

_KIN = (
    r"(?:妻子|老婆|太太|爱人|丈夫|老公|女朋友|男朋友|女友|男友|未婚妻|未婚夫|爸爸?|妈妈?|父亲|母亲|父母|爷爷|奶奶|外婆|外公|姥姥|姥爷|哥哥?|姐姐?|弟弟?|"
    r"妹妹?|表[哥姐弟妹]|堂[哥姐弟妹]|嫂子|姐夫|岳父|岳母|婆婆|公公|大?儿子|[大小]?女儿|孩子|宝宝|双胞胎|侄子|侄女|外甥|舅舅|阿姨|叔叔|姑姑|姨妈|同事|室友|"
    r"同学|朋友|闺蜜|邻居|房东|导师|上司|领导|老板|前夫|前妻|孙子|孙女|家人)"
)
_PET = r"(?:猫|狗|小猫|小狗|猫咪|狗狗|兔子|鹦鹉|仓鼠|乌龟|宠物)"
_THING = (
    r"(?:名字|姓名|昵称|英文名|网名|生日|年龄|身高|体重|血型|星座|属相|鞋码|电话|手机号?|手机|邮箱|地址|住址|老家|家乡|籍贯|国籍|母语|学校|母校|专业|学历|"
    r"工作|职业|公司|单位|职位|团队|爱好|兴趣|梦想|目标|信仰|电脑|笔记本|键盘|编辑器|操作系统|系统|车牌号?|车|房子|时区|航班|火车|考试|面试|婚礼|手术|预约|"
    r"纪念日|签证|护照|工资|月薪|年薪|预算|房租|数据库|服务器|网站|博客|用户名|家)"
)
_MINE = re.compile(
    rf"我们?(?:家)?的?(?P<what>(?:最(?:喜欢|爱)的|首选的?|默认的?).{{1,12}}?(?=[是叫])|(?:家的?|公司的?)?{_PET}|{_KIN}|"
    rf"{_THING})"
    r"(?P<name>[A-Z][a-z]+)?(?P<rest>.*)$"
)
_TIME = (
    r"(?:今[年天晚早]|明[年天晚早]|后天|昨[天晚]|前天|去年|前年|[上下本]个?(?:周|月|星期|礼拜)[一二三四五六日天末]?|周[一二三四五六日天末]|"
    r"\d{4}年(?:\d{1,2}月)?(?:\d{1,2}[日号])?|\d{1,2}月(?:\d{1,2}[日号])?|"
    r"[一二三四五六七八九十]{1,3}月(?:[一二三四五六七八九十]{1,3}[日号])?|[早晚]上|上午|下午|中午|刚(?:刚|才)?|最近|小时候|从小|以前|曾经?|现在|"
    r"目前|过去|平时|平常|周末|工作日)"
)
_USUAL = (
    rf"(?:{_TIME}|也|都|还|一直|总是|特别|非常|很|最|比较|更|通常|一般|真的|其实|就|只|仍然?|早就|已经|经常|常|偶尔|一向|有点|不太|不怎么|"
    rf"再也不|从来?不|不再|不|没有?|"
    r"两个|全家){0,5}"
)
_HELD = (
    r"(?:[一二两三四五六七八九十\d]+|好?几|多)?(?:个|只|条|位|辆|套|台|名|双|对|匹|头|年)?(?:可爱的|小|大|黑|白)?"
    rf"(?:{_KIN}|{_PET}|车|房|驾照|糖尿病|高血压|低血糖|哮喘|鼻炎|胃病|抑郁症|焦虑症|过敏|近视|失眠|洁癖|恐高|.{{0,8}}经验|.{{0,6}}证书|"
    rf"博客|公众号)"
)
_LASTS = (
    r"(?:住|是(?!说|想|指|问|不是|否|在|认真|第一次|新手|真的|因为|为了|来|这)[^的]|叫(?!我|了|个|他|她|不|停)|姓|来自|生于|出生|毕业|"
    r"从.{1,12}毕业|在.{1,16}?(?:工作|上班|任职|实习|读书|上学|上大学|读研|读博|做(?!一?个).{2,10}|当.{2,10}|留学|生活|长大|定居|创业|"
    r"教书)|喜欢(?!$)|爱[吃喝看听玩用]|热爱|讨厌|偏好|偏爱|受不了|吃素|[吃喝](?!了|过|完|饭|饱|药|的)|抽烟|吸烟|戒了?[烟酒]|用(?:的是|"
    r"的)?(?!户|不|了)|使用|会(?:说|讲|弹|拉|吹|开车|游泳|做饭|做菜|写|用|下|骑|滑|唱|跳)|擅长|精通|养了?|对.{1,12}过敏|每(?:天|周|晚|早|"
    r"月|年|个|次|隔)|习惯|搬[到家去来]|结婚|离婚|订婚|退休|怀孕|单身|已婚|未婚|离异|考[上过]|入职|辞职|离职|跳槽|换了?(?:工作|手机|车|房|专业)|"
    r"买了[一两]|卖了|学[了过]|(?:正)?在学习?(?!校|期|习|怎么|如何|$)|(?:要|会|打算|计划|准备|将)(?:去.{1,}|搬|飞|参加|考|结婚|退休|入职|"
    r"生)|今?年?\d{1,3}岁|[一二三四五六七八九十]{1,4}岁|身高|体重|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|信[佛教基仰]|得了|得过|患有?|失眠|近视|色盲|左撇子|"
    r"怕(?:狗|猫|高|黑|水|蛇|虫|冷|热|辣|打针|坐飞机)|恐高|负责|从事|教(?!训|会|程|我)|开(?:了一?家|公司|店|餐馆)|过生日|(?:一般|通常|经常|总是|"
    r"从来?不)(?!.{0,4}(?:报错|遇到|收到|看到|出现|失败|卡|忘)).{2,}|"
    rf"有{_HELD})"
)
_OF_USER = re.compile(
    rf"(?:(?P<front>{_TIME}|每[天周晚早].{{0,6}}?)(?=我))?(?:我|我们|咱们?|本人|"
    rf"俺)(?:和我?的?{_KIN})?{_USUAL}{_LASTS}"
)
_GOES_ON = re.compile(rf"{_USUAL}{_LASTS}")
_OF_THEIRS = re.compile(
    r"(?:就|也|都|还|已经|现在|目前|一直|很|今年|明年|去年|不|没有?){0,4}(?:叫|是|在|住|今年|有|对|喜欢|爱|讨厌|退休|去世|过世|结婚|离婚|出生|会|每|要|"
    r"下|明|昨|从|来自|毕业|怀孕|吃|喝|用|搬|考|上|得了|为|：|:|属|姓|\d|[一二三四五六七八九十]{1,3}岁|养)"
)
_PASSING = re.compile(
    r"(?:在|正在?)(?:看|想|写|找|做|试|跑|改|读|叫|哭|睡)|循环|函数|方法|代码|命令|脚本|变量|报错|第[一二三四五]个|有点事|有事|没(?:用|关系|事|"
    r"问题)|不(?:行|懂|知道|明白|清楚|会用)"
    r"|用.{0,12}(?:写|装|运行|执行|试|打开|实现|处理|生成|做了|跑|改|连|解|画了)|(?:[昨今]天|刚).{0,4}[吃喝]"
)
# A plan has a day, or it is what is done now.
_TO_COME = re.compile(r"(?:要|会|将|准备)(?:去|飞|参加)")
_HELD_ONE = "…"  # the subject of what follows "I have a cat": it is said of the cat
_CALLED = re.compile(
    r"(?:你?(?:可以|以后)?)叫我(?P<name>[\u4e00-\u9fffA-Za-z·]{1,10}?)(?:就好|就行|就可以了?|即可|吧)?$"
)
_NO_NAME = re.compile(r"起|一[下声]|回|去|来|吃|早|别|的|了|什么|怎么|做|时|点")
_POINTS = re.compile(r"^(?:这|那|它|他|她|刚才|上面|下面|以下|提醒|买|带|去|要|把)|提醒")
_STATES = re.compile(r"是|在|用|叫|住|有|不|喜欢|讨厌|对|为|[:：=]|我的|过敏")


def told(sentence: Sentence) -> list[str]:
    """What a sentence says of the user and lasts, in the third person; mostly nothing."""
    if sentence.remembered:
        kept = _as_said(sentence.text.strip(" ，,：:"))
        return [kept] if kept else []
    if _REPORTED.search(sentence.text):
        return []
    found: list[str] = []
    subject = ""  # of the clause before, for one that has none
    pieces = [piece.strip() for piece in _CUTS.split(sentence.text) if piece and piece.strip()]
    for at, piece in enumerate(pieces):
        if _ASKS.match(piece) or (sentence.asked and at == len(pieces) - 1):
            return found
        if _CONDITION.search(piece):
            return []
        bare = _LEAD.sub("", piece, count=1) if _LEAD.match(piece) else piece
        fact, owner = _piece(bare, subject)
        if fact and found and not owner:
            found[-1] += f"，{fact}"
        elif fact:
            found.append(fact)
        subject = owner or (_HELD_ONE if fact else "")
    return found


def _piece(bare: str, subject: str) -> tuple[str, str]:
    """The fact of a clause and of whom it is; of nobody new where it goes on about what was held before."""
    called = _CALLED.match(bare)
    if called and not _NO_NAME.search(called["name"]):
        return f"用户希望被叫作{called['name']}", "用户"
    if _DOUBT.search(bare) or _PASSING.search(bare) or len(bare) < 2:
        return "", ""
    mine = _MINE.match(bare)
    if mine and _OF_THEIRS.match(mine["rest"]):
        of = f"用户{'' if mine['what'] == '家' else '的'}{mine['what']}{mine['name'] or ''}"
        return of + _in_third(mine["rest"]), of
    if _OF_USER.match(bare) and (not _TO_COME.search(bare) or re.search(_TIME, bare)):
        return _in_third(bare), _HELD_ONE if re.search(r"养|有|买", bare) else "用户"
    return _going_on(bare, subject)


def _going_on(bare: str, subject: str) -> tuple[str, str]:
    """A clause that leaves its subject to the one before."""
    if subject == _HELD_ONE:
        return (bare, "") if re.match(r"叫|今年|\d|是", bare) else ("", "")
    return (subject + _in_third(bare), subject) if subject and _GOES_ON.match(bare) else ("", "")


def _as_said(text: str) -> str:
    """What the writer wants kept, whatever it is of; "" where it only points at something."""
    if len(text) < 3 or _POINTS.search(text) or not (text.startswith("我") or _STATES.search(text)):
        return ""
    return _in_third(re.sub(r"[你您]", "助手", text))


def _in_third(text: str) -> str:
    text = re.sub(rf"(?:我们?|咱们?)(?:家)?的?(?={_KIN}|{_THING}(?:是|在|叫|：))", "用户的", text)
    return re.sub(r"我们|咱们|本人|咱|俺|我", "用户", text)
