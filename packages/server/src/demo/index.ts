/** The demo of a user: a conversation of a scripted model with real tools. */
export { openDemo, type Demo } from './demo.ts'
