/** Limits of answers, freeform calls, and readings of edits. */
import type { MutatedFile } from '../mutant.ts'

const llm = (name: string) => `packages/server/src/llm/${name}`
const native = (name: string) => `packages/server/src/agent/native/${name}`
const editor = (name: string) => `packages/server/src/tools/file-editor/${name}`

const LIMITS = [native('raised-limit.test.ts'), llm('providers/request.test.ts'), llm('providers/thinking.test.ts')]
const FREEFORM = [
  llm('prompt/freeform.test.ts'),
  llm('providers/freeform-calls.test.ts'),
  native('freeform-patch.test.ts'),
]

export const answers: readonly MutatedFile[] = [
  {
    file: llm('providers/output-limit.ts'),
    tests: LIMITS,
    mutants: [
      { before: 'if (afterCut === undefined) return usual', after: 'return usual' },
      { before: 'Math.max(usual ?? 0, afterCut.answer)', after: 'usual ?? 0' },
      { before: 'afterCut.window > 0 ? afterCut.window : known?.window', after: 'known?.window' },
      { before: 'Math.min(known.output, Math.floor((window - afterCut.total) / 2))', after: 'known.output' },
      { before: 'window - afterCut.total', after: 'window' },
      { before: 'allowed > reached ? allowed : usual', after: 'allowed' },
      { before: '(isForeign ? foreignLimit', after: '(false ? foreignLimit' },
      { before: 'if (known?.output === undefined) return FOREIGN_LIMIT', after: 'return FOREIGN_LIMIT' },
      { before: 'known.window === undefined ? FOREIGN_LIMIT : Math.floor(known.window / 4)', after: 'Infinity' },
      { before: 'config.model_canonical_name ?? modelId', after: 'modelId' },
    ],
  },
  {
    file: llm('providers/anthropic-thinking.ts'),
    tests: LIMITS,
    mutants: [
      { before: 'const share = configured *', after: 'const share = (limit ?? configured) *' },
      { before: '(limit ?? configured) - budgetTokens', after: 'configured - budgetTokens' },
    ],
  },
  {
    file: llm('providers/milder-request.ts'),
    tests: [native('raised-limit.test.ts'), llm('providers/freeform-calls.test.ts')],
    mutants: [
      { before: 'hasCustomTools && isBad && NO_CUSTOM_TOOLS', after: 'false && NO_CUSTOM_TOOLS' },
      { before: 'return isRaised && isAboutLimit', after: 'return isAboutLimit' },
      { before: "return isRaised && isAboutLimit ? 'usual' : null", after: 'return null' },
    ],
  },
  {
    file: native('answer-end.ts'),
    tests: [native('raised-limit.test.ts'), native('freeform-patch.test.ts')],
    mutants: [
      { before: 'if (event.llm_response_id !== newest) return null', after: '' },
      { before: 'return newest === null ? tokens : null', after: 'return tokens' },
      { before: "else if (event.kind === 'MessageEvent' && event.source === 'agent') return null", after: '' },
      { before: 'const isCut = isError || ', after: 'const isCut = ' },
      { before: ' || text.startsWith(HEADS.thinking)', after: '' },
      { before: 'return isOpenPatch || ', after: 'return ' },
    ],
  },
  {
    file: llm('prompt/freeform.ts'),
    tests: FREEFORM,
    mutants: [
      { before: "api === 'responses' && customTools", after: "api === 'responses'" },
      { before: "api === 'responses' && customTools", after: 'customTools' },
      { before: '|| !customs.has(name)', after: '' },
      { before: "typeof value === 'string' ? value : call.arguments", after: 'String(value)' },
      { before: 'parseRecord(text) === null ? JSON', after: 'true ? JSON' },
      {
        before: "if (parameter === undefined || !call.arguments.startsWith('\"')) return call",
        after: 'if (parameter === undefined) return call',
      },
    ],
  },
  {
    file: llm('providers/custom-call-end.ts'),
    tests: [llm('providers/freeform-calls.test.ts')],
    mutants: [
      { before: "status: 'completed' } })", after: '} })' },
      {
        before: "if (rest !== '') controller.enqueue(change(rest))",
        after: '',
        survives: { reason: 'equivalent', why: 'every event ends with an empty line' },
      },
      { before: '(rest + text).split', after: 'text.split' },
    ],
  },
  {
    file: editor('readings.ts'),
    tests: [editor('lenient-edits.test.ts')],
    mutants: [
      { before: "(at === 0 || plain[at - 1] === '\\n') && isAtEnd", after: 'isAtEnd' },
      { before: "(at === 0 || plain[at - 1] === '\\n') && isAtEnd", after: "at === 0 || plain[at - 1] === '\\n'" },
      { before: 'after.first === before.first', after: 'true' },
      { before: 'hasNumbers(newText) ? [] : [reading(newText)]', after: '[reading(newText)]' },
      { before: '(?=.{6}) *', after: ' *' },
      { before: 'numbers.some((number, at) => number !== first + at)', after: 'numbers.some(Number.isNaN)' },
      { before: 'if (/\\n/.test(oldText + newText) || !', after: 'if (!' },
      { before: '[...kinds(newText)].some((char) => !confirmed.has(char))', after: 'false' },
      { before: '!known.has(previous) && (', after: '(' },
      { before: '!isClosed(previous) || ', after: '' },
      { before: ' || /[ \\t]$/.test(previous)', after: '' },
      { before: " || reading.oldText.endsWith('\\n')", after: ' || true' },
      { before: " || words.has(line.match(FIRST_WORD)?.[0] ?? '')", after: ' || true' },
      { before: "[\"'\", '\"', '`', '/']", after: "['\"', '/']" },
      { before: "[\"'\", '\"', '`', '/']", after: "[\"'\", '\"', '`']" },
    ],
  },
  {
    file: editor('replace-lines.ts'),
    tests: [editor('lenient-edits.test.ts'), editor('edits.test.ts')],
    mutants: [
      { before: 'shifted.length === 1 ? shifted : found.places', after: 'found.places' },
      { before: 'shifted.length === 1 ? shifted', after: 'shifted.length > 0 ? [shifted[0]!]' },
      { before: 'if (others.length > 0) throw', after: 'if (false) throw' },
    ],
  },
]
