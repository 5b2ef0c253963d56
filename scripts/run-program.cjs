'use strict'
const childProcess = require('child_process')

/** An error whose message is all that a person needs; printed without a stack. */
class Refusal extends Error {}

/** Runs a program to its end and passes signals on. Resolves to `[code, signal]`. */
function run(node, args, env) {
  return new Promise((resolve, reject) => {
    const child = childProcess.spawn(node, args, { stdio: 'inherit', env })
    const pass = (signal) => {
      // Ctrl-C reaches the whole foreground group; passing it on would send it twice.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    }
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
    for (const signal of signals) process.on(signal, pass)
    child.on('error', (error) =>
      reject(new Refusal(`${node} does not start (${error.message}); run: npm ci --omit=optional`)),
    )
    child.on('exit', (code, signal) => {
      for (const each of signals) process.off(each, pass)
      resolve([code, signal])
    })
  })
}

module.exports = { Refusal, run }
