/** The project of the screenshots, and the answers of the scripted model that works on it. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { RequestView, ScriptedAnswer } from '../../../packages/server/testing/scripted-model.ts'

export const TASKS = {
  fix: 'The totals of invoices differ from the ones in the accounts by a cent. Find out why, fix it and run the tests.',
  release: 'Tag version 2.4.0 and publish the branch.',
  explain: 'Explain how the retries of the mail queue work.',
  wait: 'Measure the import of the January file.',
} as const

const BEFORE = `/** The total of an invoice in cents, with value added tax. */
export function total(lines, rate) {
  const net = lines.reduce((sum, { cents }) => sum + cents, 0)
  return Math.round(net * (1 + rate))
}
`
const OLD = `  const net = lines.reduce((sum, { cents }) => sum + cents, 0)
  return Math.round(net * (1 + rate))`
const NEW = `  // The accounts round the tax of each line.
  return lines.reduce((sum, { cents }) => sum + cents + Math.round(cents * rate), 0)`
const TEST = `import assert from 'node:assert/strict'
import test from 'node:test'
import { total } from '../src/total.js'

test('the tax is rounded line by line', () => {
  const lines = [{ cents: 333 }, { cents: 333 }, { cents: 333 }]
  assert.equal(total(lines, 0.19), 1188)
})
`

/** Writes the project with one commit. */
export function writeProject(folder: string): void {
  const files = {
    'package.json': '{ "name": "invoices", "type": "module", "scripts": { "test": "node --test" } }\n',
    'README.md': '# Invoices\n\nTotals, taxes and reminders.\n',
    'src/total.js': BEFORE,
    'src/reminder.js': 'export const DAYS = [14, 28, 42]\n',
    'test/total.test.js': TEST,
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args], {
      cwd: folder,
      stdio: 'ignore',
    })
  git('init', '--initial-branch=main')
  git('add', '.')
  git('commit', '--message=Invoices with tax')
}

const call = (text: string, name: string, args: Record<string, unknown>): ScriptedAnswer => ({
  text,
  toolCalls: [{ name, arguments: args }],
})

/** @param folder the workspace */
export function answerOf(
  { lastUserText: text, assistantTurns: turn }: RequestView,
  folder: string,
): ScriptedAnswer | Promise<never> {
  const run = (said: string, command: string, summary: string) =>
    call(said, 'terminal', { command, summary, security_risk: 'LOW' })
  switch (text) {
    case TASKS.wait:
      return Promise.withResolvers<never>().promise
    case TASKS.explain:
      return { text: EXPLANATION }
    case TASKS.release:
      return call('The branch is ready. Publishing it replaces the one on the server, so you decide.', 'terminal', {
        command: 'git tag v2.4.0 && git push --force origin main v2.4.0',
        summary: 'Publish version 2.4.0',
        security_risk: 'HIGH',
      })
  }
  const path = join(folder, 'src', 'total.js')
  const steps = [
    run(
      'I look at how the total is computed first.',
      'cat src/total.js && git log --oneline',
      'Show the function and its history',
    ),
    run('The test describes the rounding. I run it.', 'node --test', 'Run the tests'),
    call('The tax is rounded once for the whole invoice. The accounts round it for each line.', 'file_editor', {
      command: 'str_replace',
      path,
      old_str: OLD,
      new_str: NEW,
      summary: 'Round the tax of each line',
      security_risk: 'LOW',
    }),
    run('Now the tests again.', 'node --test', 'Run the tests'),
  ]
  return steps[turn] ?? { text: RESULT }
}

const RESULT = `The totals equal the accounts now.

- **Cause:** \`total\` rounded the tax once for the sum. With three lines of 3.33 that is a cent more.
- **Change:** the tax of each line is rounded, as the accounts do it (\`src/total.js\`).
- **Test:** the one for rounding passes.

Reminders use the same function, so they change with it.`

const EXPLANATION = `A mail that cannot be sent is tried again **five times**.

| Try | Wait | Reason |
|---|---|---|
| 1–2 | 1 min | the receiver was busy |
| 3–4 | 15 min | greylisting |
| 5 | 4 h | an outage |

After the last one the mail is kept in \`outbox/failed\`, and the metric \`mail_failed\` is raised:

\`\`\`js
const WAITS = [60, 60, 900, 900, 14_400]
\`\`\``
