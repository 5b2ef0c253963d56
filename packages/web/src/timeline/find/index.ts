/** Find in the conversation, loaded after the log is shown. */
export { FindBar } from './bar.tsx'
export { FindButton } from './button.tsx'
