import { readFile } from 'node:fs/promises'
import { ParleyClient } from '@parley/client'
import { asConversationId } from '@parley/protocol'
import { expect, test } from 'vitest'
import { byForm, forSeeds, timeoutFor } from '../../packages/server/testing/campaign.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { random } from '../../packages/server/testing/random-history.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { freePort, startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

const BUDGET = { seconds: byForm({ test: 5, campaign: 120, soak: 3600 }), least: 2 }
/** The run lasts about this long, so that a kill falls into any of its moments. */
const RUN_MS = 1500
const STEPS = [1, 2, 3, 4, 5, 6]
const ID = '00000000-0000-4000-8000-000000000001'

const step = (n: number): ScriptedAnswer => ({
  toolCalls: [{ name: 'terminal', arguments: { command: `echo step-${n} >> trace; sleep 0.1; echo said-${n}` } }],
})
const finish: ScriptedAnswer = { toolCalls: [{ name: 'finish', arguments: { message: 'all done' } }] }

test(
  'a server killed at random moments of a run loses no event and executes no call twice',
  async () => {
    let kills = 0
    const runs = await forSeeds(BUDGET, async (seed) => {
      const next = random(seed * 104_729)
      await using dir = await tempDir()
      await using model = await startScriptedModel({ by: 'turn', answers: [...STEPS.map(step), finish] })
      const port = await freePort()
      const start = () => startServerProcess({ dataDir: dir.file('data'), port })
      let server = await start()
      await using _last = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
      const { status } = await server.call('POST', '/api/conversations', {
        conversation_id: ID,
        workspace: { working_dir: dir.file('work') },
        agent: {
          kind: 'Agent',
          llm: { model: 'openai/scripted', base_url: `${model.url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
          tools: [{ name: 'terminal' }],
        },
        initial_message: { content: [{ type: 'text', text: 'go' }] },
      })
      expect(status).toBe(201)
      const seen: { seq: number; event: any }[] = []
      const following = (async () => {
        const client = new ParleyClient({ baseUrl: `http://127.0.0.1:${port}`, apiKey: TEST_KEY })
        for await (const { seq, event } of client.conversation(asConversationId(ID)).events()) {
          seen.push({ seq, event })
          if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'execution_status') continue
          if (event.value === 'finished' || event.value === 'error') return true
        }
        return true
      })()
      for (let kill = 0, most = 1 + Math.floor(next() * 3); kill < most; kill++) {
        const isOver = await Promise.race([
          following,
          new Promise<false>((resolve) => setTimeout(() => resolve(false), next() * RUN_MS)),
        ])
        if (isOver) break
        await server.kill()
        kills += 1
        server = await start()
      }
      await following
      const seqs = seen.map(({ seq }) => seq)
      expect(seqs).toEqual(seqs.map((_, index) => index + 1))
      const actions = seen.filter(({ event }) => event.kind === 'ActionEvent').map(({ event }) => event.id)
      const answered = seen.filter(({ event }) => event.kind === 'ObservationEvent').map(({ event }) => event.action_id)
      expect(answered).toEqual(actions)
      expect(actions).toHaveLength(STEPS.length + 1)
      expect(await readFile(dir.file('work', 'trace'), 'utf8')).toBe(STEPS.map((n) => `step-${n}\n`).join(''))
      expect(model.violations).toEqual([])
      await server.call('DELETE', `/api/conversations/${ID}`)
    })
    console.log(`${runs} runs, ${kills} kills`)
    expect(kills).toBeGreaterThan(0)
  },
  timeoutFor(BUDGET.seconds),
)
