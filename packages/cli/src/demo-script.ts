/** Answers of the scripted model of the demo, turn by turn. The tools are real. */
import { join } from 'node:path'
import { FAULT, MODULE, REPAIR, testCommand } from './demo-project.ts'

type Answer = { text: string; tool_calls: { name: string; arguments: Record<string, unknown> }[] }

/** One answer of a model: a sentence and one call. */
const turn = (text: string, name: string, args: Record<string, unknown>): Answer => ({
  text,
  tool_calls: [{ name, arguments: args }],
})

/** A script for the project in `folder`. */
export function demoScript(folder: string, env: Readonly<Record<string, string | undefined>>): Answer[] {
  const module = join(folder, MODULE)
  const test = { command: testCommand(env) }
  return [
    turn('I will look around first.', 'terminal', { command: 'ls *' }),
    turn('Now the test.', 'terminal', test),
    turn('Seven items on pages of three should need three pages. Here is the function.', 'file_editor', {
      command: 'view',
      path: module,
    }),
    turn('It rounds down, so a last page that is not full is forgotten. It has to round up.', 'file_editor', {
      command: 'str_replace',
      path: module,
      old_str: FAULT,
      new_str: REPAIR,
    }),
    turn('Once more.', 'terminal', test),
    turn('', 'finish', {
      message: 'The page count rounded down and forgot the last page. It rounds up now, and the test passes.',
    }),
  ]
}
