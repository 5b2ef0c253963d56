/**
 * Templates of prompt files that the operator of the server writes: values, conditions, loops and filters. Text and white space stay
 * unchanged; one line end at the very end is removed. Source: agent-core.md 9.2; interface.md, ACPAgent.
 */
import * as vm from 'node:vm'
import { invalidInput, type ParleyError } from '@parley/protocol'

/** Time limit for filling one template, against nested loops. */
const LIMIT_MS = 2000
/** Limit of the filled text, in characters. */
const MAX_CHARS = 1_000_000
const MAX_RANGE = 10_000
/** Up to this number of lines the line of an error is searched one by one. */
const SEARCHED_LINES = 500

export type Values = Readonly<Record<string, unknown>>

export type PromptTemplate = {
  /** True when the template inserts the security policy itself (`security_policy`). */
  holdsPolicy: boolean
  /**
   * Returns the text with these values. A name without a value becomes empty. @throws ParleyError `invalid_input` naming the
   * file.
   */
  fill(values: Values): string
}

/**
 * Parses a template; its library is loaded with the first one.
 * @param name of the file, as the caller wrote it
 * @throws ParleyError `invalid_input` naming the file and the line of the error.
 */
export async function openTemplate(name: string, text: string): Promise<PromptTemplate> {
  const { Environment, Interpreter, parse, tokenize } = await import('@huggingface/jinja')
  const read = (part: string) => parse(tokenize(part))
  const problem = problemOf(read, text)
  if (problem !== null) throw refused(name, `line ${lineOf(read, text, problem)}: ${readable(problem)}`)
  const program = read(text)
  return {
    holdsPolicy: /\bsecurity_policy\b/.test(text),
    fill(values) {
      const fill = () => {
        const scope = new Environment()
        // The globals of the language, without those that a prompt does not need (the time, functions that fail).
        scope.set('range', range)
        for (const [word, value] of Object.entries({ ...WORDS, ...values }))
          if (word !== 'range') scope.set(word, plain(value))
        return String(new Interpreter(scope).run(program).value)
      }
      const filled = inTime(fill, (reason) => refused(name, reason))
      if (filled.length > MAX_CHARS) throw refused(name, `it becomes longer than ${MAX_CHARS} characters`)
      return filled
    },
  }
}

const WORDS = { true: true, false: false, none: null, True: true, False: false, None: null }

/** Whole numbers from `first` (or 0) to before `end`; at most ten thousand. */
function range(first: number, end?: number, step = 1): number[] {
  const [from, to] = end === undefined ? [0, first] : [first, end]
  const count = Math.min(Math.max(Math.ceil((to - from) / step), 0), MAX_RANGE)
  return Array.from({ length: count }, (_, at) => from + at * step)
}

/** Reduces a value to JSON, so that a template never reaches other objects. */
const plain = (value: unknown): unknown => (value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null'))

/** Runs in a context with a time limit, because an endless loop would block the server. */
function inTime(fill: () => string, refuse: (reason: string) => ParleyError): string {
  try {
    return String(vm.runInNewContext('fill()', { fill }, { timeout: LIMIT_MS }))
  } catch (error) {
    throw refuse(isTimeUp(error) ? 'it takes too long to fill' : readable(messageOf(error)))
  }
}

/** The error comes from another realm, so `instanceof` does not apply. */
const isTimeUp = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'

function problemOf(read: (text: string) => unknown, text: string): string | null {
  try {
    read(text)
    return null
  } catch (error) {
    return messageOf(error)
  }
}

/** The first line up to which the text fails with the same problem as the whole. */
function lineOf(read: (text: string) => unknown, text: string, problem: string): number {
  const lines = text.split('\n')
  const failsAlike = (count: number) => problemOf(read, lines.slice(0, count).join('\n')) === problem
  let bad = lines.length
  let good = 0
  while (bad - good > 1) {
    const middle = lines.length > SEARCHED_LINES ? Math.floor((good + bad) / 2) : bad - 1
    if (failsAlike(middle)) bad = middle
    else good = middle
  }
  return bad
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** The library's message about a block without an end is of no use. */
const readable = (message: string): string =>
  message.startsWith('Cannot read properties of undefined')
    ? 'a block has no end'
    : message.replace(/^Parser Error: /, '')

const refused = (name: string, reason: string) =>
  invalidInput(`system_prompt_filename '${name}' cannot be used: ${reason}`, ['system_prompt_filename'])
