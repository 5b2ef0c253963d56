/** What the scripted model of the demo answers, decided from the messages of a request alone. Pure. */
import type { LlmMessage } from '../llm.ts'
import type { ScriptedAnswer } from '../scripted.ts'
import { FAULT, FILES, MODULE, REPAIR } from './project.ts'

type Risk = 'LOW' | 'MEDIUM'

/** Milliseconds between two pieces of a text, so that a person can read along. */
const PACE_MS = 30

const OVER =
  'The demo ends here: a script stood in for the model, so it cannot answer you. Add a model in the settings, then start a conversation of your own.'

/**
 * The next answer. An earlier position of the conversation, and a restarted server, get the same one.
 * @param testCommand the shell line that runs the tests of the project
 */
export function demoAnswer(messages: readonly LlmMessage[], testCommand: string): ScriptedAnswer {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const result = lastResult(messages)
  const test = (text: string, summary: string) =>
    call(text, 'terminal', { command: testCommand, summary, security_risk: 'LOW' })
  switch (turn) {
    case 0:
      return patch(
        'In this demo a script stands in for the model. The tools, the files and the approval are real. First I set up the project.',
        ADD_PROJECT,
        'Set up the example project',
        'LOW',
      )
    case 1:
      if (result.isError)
        return end('The project could not be set up, so the demo ends here. The result above says why.')
      return test('Now its test.', 'Run the test')
    case 2:
      return call(
        'Seven items on pages of three need three pages. Here is the function that counts them.',
        'terminal',
        {
          command: `cat ${MODULE}`,
          summary: 'Show the function',
          security_risk: 'LOW',
        },
      )
    case 3:
      return patch(
        'It rounds down, so a last page that is not full is lost. It has to round up. This changes a file, so you decide.',
        FIX,
        'Round up instead of down',
        'MEDIUM',
      )
    case 4:
      if (result.isError) return end('The file was not changed, so the test still fails. The demo ends here.')
      return test('Once more.', 'Run the test again')
    case 5:
      return end(
        /\bfail 0\b/.test(result.text)
          ? `The page count rounded down and lost the last page. It rounds up now, and the test passes:\n\n${quoted(result.text)}`
          : 'The function rounds up now, but its test did not pass here. The output above says why.',
      )
    default:
      return { text: OVER, delta_delay_ms: PACE_MS }
  }
}

const call = (text: string, name: string, args: Record<string, unknown>): ScriptedAnswer => ({
  text,
  tool_calls: [{ name, arguments: args }],
  delta_delay_ms: PACE_MS,
})

const patch = (text: string, change: string, summary: string, risk: Risk): ScriptedAnswer =>
  call(text, 'apply_patch', { patch: change, summary, security_risk: risk })

/** The lines of the output that say what passed. */
function quoted(output: string): string {
  const lines = output.split('\n').filter((line) => /^\s*(?:✔|ok \d|\S+ (?:pass|fail) \d)/.test(line))
  return ['```', ...lines.map((line) => line.trim()), '```'].join('\n')
}

const end = (message: string): ScriptedAnswer => call('', 'finish', { message, summary: 'Report the result' })

function lastResult(messages: readonly LlmMessage[]): { text: string; isError: boolean } {
  const last = messages.findLast((message) => message.role === 'tool')
  if (last === undefined) return { text: '', isError: false }
  const text = last.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  return { text, isError: last.isError }
}

const inPatch = (parts: readonly string[]): string => ['*** Begin Patch', ...parts, '*** End Patch'].join('\n')

const ADD_PROJECT = inPatch(
  FILES.map(([path, text]) =>
    [
      `*** Add File: ${path}`,
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => `+${line}`),
    ].join('\n'),
  ),
)

const FIX = inPatch([
  `*** Update File: ${MODULE}`,
  '@@ export function pageCount(items, perPage) {',
  `-${FAULT}`,
  `+${REPAIR}`,
])
