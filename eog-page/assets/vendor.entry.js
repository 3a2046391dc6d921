export { Graph, layout } from "@dagrejs/dagre";
export { default as uPlot } from "uplot";
