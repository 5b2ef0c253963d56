/** Prints the figures that this working copy measured about itself: `npm run --silent facts`. */
import { readFileSync } from 'node:fs'

try {
  process.stdout.write(readFileSync(new URL('../artifacts/facts.json', import.meta.url), 'utf8'))
} catch (error) {
  if (error.code !== 'ENOENT') throw error
  process.stderr.write('nothing measured yet; run: npm test\n')
  process.exitCode = 1
}
