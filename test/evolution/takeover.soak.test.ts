/** A data directory of release 0.1.0 whose server was killed during commands, taken over by this version. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { conversation, start, starting } from '../../packages/server/testing/conversations.ts'
import { startScriptedModel } from '../../packages/server/testing/scripted-model.ts'
import { startServerProcess } from '../../packages/server/testing/server-process.ts'
import { tempDir, type TempDir } from '../../packages/server/testing/temp.ts'
import { until } from '../../packages/server/testing/until.ts'

/** The commit of the release. A copy of the sources without its history skips the test. */
const RELEASE = '18d0bf8'
const root = fileURLToPath(new URL('../../', import.meta.url))
const git = (...args: string[]) =>
  execFileSync('git', args, { cwd: root, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] })

function hasRelease(): boolean {
  try {
    git('cat-file', '-e', `${RELEASE}^{commit}`)
    return true
  } catch {
    return false
  }
}

/** The sources of the release, with the packages that are installed here. Returns its command line. */
function sourcesOf(dir: TempDir): string {
  const release = dir.file('release')
  mkdirSync(`${release}/node_modules/@parley`, { recursive: true })
  execFileSync('tar', ['-x', '-C', release], { input: git('archive', RELEASE, 'packages', 'package.json') })
  const installed = readdirSync(`${root}node_modules`).filter((name) => !name.startsWith('.') && name !== '@parley')
  for (const name of installed) symlinkSync(`${root}node_modules/${name}`, `${release}/node_modules/${name}`)
  for (const name of readdirSync(`${release}/packages`))
    symlinkSync(`${release}/packages/${name}`, `${release}/node_modules/@parley/${name}`)
  return `${release}/packages/cli/src/main.ts`
}

const lines = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').length : 0)

test.skipIf(!hasRelease())(
  'a data directory of release 0.1.0 whose commands still run is taken over: each is executed once, and the turn finishes',
  async () => {
    await using dir = await tempDir()
    const env = { PARLEY_RUNNER_ORPHAN_EXIT_SECONDS: '60' }
    const trace = dir.file('trace')
    const command = (name: string) =>
      `echo x >>${trace}${name}; until [ -e ${trace}.go ]; do sleep 0.05; done; echo it-ended`
    await using model = await startScriptedModel({
      respond: ({ view }) =>
        view.toolResults.length > 0
          ? { text: 'done' }
          : { toolCalls: [{ name: 'terminal', arguments: { command: command('') } }] },
    })
    const dataDir = dir.file('data')
    let id: string
    let bash: string
    {
      await using old = await startServerProcess({ dataDir, env, argv: [sourcesOf(dir)] })
      const begun = await start(old, starting(model, dir.file('work')))
      id = begun.id
      await begun.say('go')
      const started = await old.call('POST', '/api/bash/start_bash_command', { command: command('-bash'), timeout: 60 })
      bash = started.body.id
      await until(() => lines(trace) === 1 && lines(`${trace}-bash`) === 1)
      await old.kill()
    }
    await using server = await startServerProcess({ dataDir, env })
    writeFileSync(`${trace}.go`, '')
    const taken = conversation(server, id)
    await taken.is('finished')
    const reported = await taken.kinds('ObservationEvent')
    const unknown = await taken.kinds('AgentErrorEvent')
    expect(reported.length + unknown.length).toBe(1)
    for (const { observation } of reported) expect(JSON.stringify(observation)).toContain('it-ended')
    const outputs = `/api/bash/bash_events/search?command_id__eq=${bash}&kind__eq=BashOutput`
    await until(async () => (await server.call('GET', outputs)).body.items.length > 0)
    expect([lines(trace), lines(`${trace}-bash`)]).toEqual([1, 1])

    // The directory is one of this version now: the next command runs.
    await taken.say('again')
    await taken.is('finished')
    expect(await taken.kinds('MessageEvent')).toHaveLength(4)
  },
)
