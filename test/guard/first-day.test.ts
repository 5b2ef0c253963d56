/** The first day of a person with the settings of a new installation: an agent works with what the person has in the home. Needs bubblewrap. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ofKind } from '../../packages/server/testing/restartable-server.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'

const CLI = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
const found = await findBubblewrap()

/** What the agent runs, one command after the other, and what each prints. */
const COMMANDS: readonly [command: string, printed: RegExp][] = [
  ['node --version && command -v node', /^v\d+[^]*\.nvm\/versions\/node\/v1\/bin\/node$/],
  ['npm init -y >/dev/null && node -p "require(\'./package.json\').name"', /^app$/],
  ['python3 -m venv .venv && . .venv/bin/activate && python -c "import sys; print(sys.prefix)"', /app\/\.venv$/],
  ['python -c "import os; print(os.environ[\'VIRTUAL_ENV\'])"', /app\/\.venv$/],
  ['printf ".venv\\nnode_modules\\n" >.gitignore && git add . && git commit -qm "first day" && git status -s', /^\s*$/],
  ['git log -1 --format="%an <%ae> %s"', /^Ann Example <ann@example\.org> first day$/],
  ['cat ~/.ssh/id ~/.npmrc; git config credential.helper; ls ~', /No such file/],
]

test.skipIf('reason' in found)(
  'without a setting but the model, an agent uses the Node of the home, a virtual environment and the name for git',
  async () => {
    await using dir = await tempDir()
    const home = (name: string) => dir.file('home', name)
    const bin = home('.nvm/versions/node/v1/bin')
    mkdirSync(bin, { recursive: true })
    copyFileSync(process.execPath, `${bin}/node`)
    chmodSync(`${bin}/node`, 0o755)
    mkdirSync(home('.ssh'))
    writeFileSync(home('.ssh/id'), 'the key of ann')
    writeFileSync(home('.npmrc'), 'the token of ann')
    const identity = '[user]\n\tname = Ann Example\n\temail = ann@example.org\n[credential]\n\thelper = store\n'
    writeFileSync(home('.gitconfig'), identity)
    const app = home('projects/app')
    mkdirSync(app, { recursive: true })
    await using model = await startScriptedModel({
      respond: ({ view }) => {
        const command = COMMANDS[view.assistantTurns]?.[0]
        return command === undefined ? { text: 'done' } : { toolCalls: [{ name: 'terminal', arguments: { command } }] }
      },
    })
    // As a person starts it: no setting but the model, in the home.
    const server = spawn(process.execPath, [CLI, 'serve', '--port', '0'], {
      cwd: app,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        HOME: dir.file('home'),
        PATH: `${bin}:${process.env['PATH']}`,
        PARLEY_LLM_MODEL: 'openai/scripted',
        PARLEY_LLM_BASE_URL: `${model.url}/v1`,
        PARLEY_LLM_API_KEY: 'a-key-of-the-model',
        ...(process.getuid?.() === 0 && { PARLEY_ALLOW_ROOT: 'true' }),
      },
    })
    try {
      let printed = ''
      server.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
      await until(() => /listening on http\S+/.test(printed), 20_000)
      const url = /http:\S+/.exec(printed)![0]
      const key = readFileSync(home('.parley/first-key'), 'utf8').trim()
      const call = async (method: string, path: string, body?: object) => {
        const headers = { 'X-Session-API-Key': key, 'Content-Type': 'application/json' }
        const sent = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
        return sent.json() as Promise<ReturnType<typeof JSON.parse>>
      }
      await call('POST', '/api/bash/execute_bash_command', { command: 'git init -q', cwd: app })
      const { id } = await call('POST', '/api/conversations', {
        workspace: { working_dir: app },
        agent: { kind: 'Agent', llm: { model: 'openai/scripted' }, tools: [{ name: 'terminal' }] },
        initial_message: { content: [{ type: 'text', text: 'Work for a day.' }] },
        autotitle: false,
      })
      await until(async () => (await call('GET', `/api/conversations/${id}`)).execution_status === 'finished', 60_000)
      const { items } = await call('GET', `/api/conversations/${id}/events/search?limit=100`)
      const texts = ofKind(items, 'ObservationEvent').map(({ observation }) => observation.content[0].text as string)
      expect(texts).toHaveLength(COMMANDS.length)
      for (const [at, [command, expected]] of COMMANDS.entries())
        expect([command, texts[at]]).toEqual([command, expect.stringMatching(expected)])
      expect(texts.join('\n')).not.toMatch(/of ann/)
      expect(existsSync(`${app}/.git/refs/heads`)).toBe(true)
    } finally {
      server.kill('SIGTERM')
      if (server.exitCode === null) await once(server, 'exit')
    }
  },
  90_000,
)
