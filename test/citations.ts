/**
 * Citations in sources and links between pages. A citation names a document and a heading in it:
 * a reference document by numbers (`agent-core.md 11.7, 11.8`), any page by titles (`interface.md, Settings record`), and a rule
 * of the fix register or a property by its code. Numbers may be a range (`11.2 to 11.4`).
 */
import { posix } from 'node:path'
import { parseSync } from 'rolldown/utils'

/** Headings of each page, by path from the repository root. */
export type Headings = ReadonlyMap<string, readonly string[]>

/** Citations of `text` that name no heading, and sources that are no citation; one line each. Pure. */
export function citationFaults(file: string, text: string, headings: Headings): string[] {
  const prose = withoutLineBreaks(commentsOf(file, text))
  const faults: [at: number, why: string][] = []
  for (const match of prose.matchAll(CITATION)) {
    const [, page = '', cited = ''] = match
    faults.push(...faultsOf(page, cited, headings).map((why): [number, string] => [match.index, why]))
  }
  for (const match of text.matchAll(CODE)) {
    if (!startsHeading(match[0], [...headings.values()].flat()))
      faults.push([match.index, `${match[0]} has no heading`])
  }
  for (const match of prose.matchAll(ELSEWHERE))
    faults.push([match.index, `${match[0]} is not a document of this repository`])
  for (const match of prose.matchAll(SOURCE)) {
    const parts = (match[1] ?? '').split(';').map((part) => part.trim().replace(/\s+/g, ' '))
    const odd = parts.filter((part) => !SOURCE_FORMS.some((form) => form.test(part)))
    faults.push(...odd.map((part): [number, string] => [match.index, `"${part}" is no source`]))
  }
  return faults.map(([at, why]) => `${file}:${text.slice(0, at).split('\n').length}: ${why}`)
}

/** Relative links of a page whose file or heading does not exist; one line each. `exists` takes a path from the root. */
export function linkFaults(
  file: string,
  text: string,
  headings: Headings,
  exists: (path: string) => boolean,
): string[] {
  const targets = [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)].map((match) => match[1] ?? '')
  return targets.flatMap((target) => {
    if (/^[a-z]+:/.test(target)) return []
    const [path = '', anchor] = target.split('#')
    const page = path === '' ? file : posix.normalize(posix.join(posix.dirname(file), path))
    if (!exists(page)) return [`${file}: ${target} does not exist`]
    if (anchor === undefined || anchors(headings.get(page) ?? []).has(anchor)) return []
    return [`${file}: ${target} has no such heading`]
  })
}

/** The texts of a page's headings, in order. */
export const headingsOf = (text: string): string[] =>
  [...withoutCode(text).matchAll(/^#{1,6} +(.+?) *$/gm)].map((match) => match[1] ?? '')

const REFERENCES = 'agent-core|agent-server-wire|conversation-service|interface|decisions'
/** The page, and what follows it up to the end of its part of the sentence. */
const CITATION = new RegExp(
  String.raw`(?<![\w./-])((?:docs/(?:[\w-]+/)*)[\w-]+\.md|(?:${REFERENCES})\.md)([^;).:]*(?:\.(?=\d)[^;).:]*)*)`,
  'g',
)
const CODE = /(?<![\w-])[FP]\d\d(?![\w-])/g
/** Documents that this repository does not have. */
const ELSEWHERE =
  /(?<![\w./-])(?:(?:design|review|seed)\/[\w-]+\.md|(?:design|dependencies|style|language|structure)\.md)|\binterface document[:,] (?:source|see|[A-Z]\w+(?: [a-z]+)?\.)/g
const SOURCE = /\bSources?: ((?:[^.]|\.(?=[^\s*]))*)/g
const SOURCE_FORMS = [
  new RegExp(String.raw`^(?:(?:docs/(?:[\w-]+/)*)?[\w-]+\.md)(?: \d|, [A-Z]|$)`),
  /^[FP]\d\d(?:, [FP]\d\d)*$/,
  /^https?:\/\//,
  /^(?:RFC|OpenAPI|JSON Schema|POSIX) /,
  /^the /i,
]

function faultsOf(page: string, cited: string, headings: Headings): string[] {
  const isReference = !page.startsWith('docs/')
  const path = isReference ? `docs/reference/${page}` : page
  const known = headings.get(path)
  if (known === undefined) return [`${path} does not exist`]
  // Prose may mention a page without a heading; only `, Title` behind it is a citation then.
  if (!isReference && !/^, [A-Z]/.test(cited)) return []
  const items = cited
    .replace(/\s+/g, ' ')
    .split(/, | and (?=\d)| to (?=\d)|^ /)
    .filter((item) => item !== '' && !/^[FP]\d\d$/.test(item))
  if (items.length === 0) return [`${page} is cited without a heading`]
  return items
    .filter((item) => (/^\d/.test(item) ? !startsHeading(item, known) : !known.includes(item)))
    .map((item) => `${path} has no heading "${item}"`)
}

const startsHeading = (start: string, headings: readonly string[]) =>
  headings.some((heading) => heading === start || heading.startsWith(`${start} `))

/** The comments of a source at their positions, everything else blank. @throws Error when it does not parse. */
function commentsOf(file: string, text: string): string {
  const { comments, errors } = parseSync(file, text)
  if (errors[0]) throw new Error(`${file}: ${errors[0].message}`)
  const blank = text.replace(/[^\n]/g, ' ')
  let end = 0
  const parts = comments.map((comment) => {
    const part = blank.slice(end, comment.start) + text.slice(comment.start, comment.end)
    end = comment.end
    return part
  })
  return parts.join('') + blank.slice(end)
}

/** Same length, so that positions stay; marks of comment lines become blanks. */
const withoutLineBreaks = (text: string) =>
  text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/|#)?[ \t]*/g, (space) => ' '.repeat(space.length))

const withoutCode = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, '')

/** Anchors as code hosts make them from headings. */
function anchors(headings: readonly string[]): Set<string> {
  const found = new Set<string>()
  for (const heading of headings) {
    const plain = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = plain
    for (let more = 1; found.has(anchor); more += 1) anchor = `${plain}-${more}`
    found.add(anchor)
  }
  return found
}
