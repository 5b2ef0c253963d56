/** Replaces the sealing key of a data directory, and kills itself after the n-th step: `rekey-until.ts DATA_DIR N [NEW_KEY]`. */
import { kill, pid } from 'node:process'
import { readConfig, rekey } from '../src/index.ts'

const [dataDir = '', last = '', newKey] = process.argv.slice(2)
const flags = { 'data-dir': dataDir }
const { config } = readConfig({ flags, env: process.env, cwd: '/', home: '/' })
let step = 0
const progress = () => {
  step += 1
  if (step === Number(last)) kill(pid, 'SIGKILL')
}
await rekey(config, { newKey: newKey ?? null, backup: null, progress })
process.stdout.write(`${step}\n`)
