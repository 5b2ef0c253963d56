/** The panel beside the timeline and its button, loaded together after the conversation is shown. */
export { PanelButton } from './button.tsx'
export { Panel } from './panel.tsx'
