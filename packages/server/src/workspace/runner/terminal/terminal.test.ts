import { expect, test } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import type { Reply } from '../ipc/reply.ts'
import { Ledger } from '../ledger/ledger.ts'
import { Sandbox } from '../sandbox/sandbox.ts'
import { Terminal } from './terminal.ts'

test('a call of an older owner that was queued before a newer one arrived is refused and starts nothing', async () => {
  await using dir = await tempDir()
  const ledger = new Ledger(dir.path)
  const sandbox = new Sandbox(dir.path, dir.path)
  const terminal = new Terminal({ conversation: 'c', root: 'r', home: dir.path, ledger, sandbox, onChange: () => {} })
  const refusals: string[] = []
  const reply: Reply = {
    epoch: 4,
    get isOpen() {
      return refusals.length === 0
    },
    chunk: () => {},
    ok: () => {},
    refuse: (code) => void refusals.push(code),
  }
  const spec = { isInput: false, reset: false, timeoutMs: null, noChangeMs: 1_000, cwd: dir.path }
  const called = terminal.call({ ...spec, callId: 'x', command: 'touch begun' }, reply)
  terminal.fence(5)
  await called
  expect(refusals).toEqual(['stale_epoch'])
  expect(ledger.entry('c', 'x')).toEqual({ state: 'absent' })
  expect(terminal.pid).toBeNull()
  ledger.close()
})
